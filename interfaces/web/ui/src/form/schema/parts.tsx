// Small parts that the fields of a form share.

import { Text, VisuallyHidden } from "@mantine/core";
import { createContext, type ReactNode, useContext } from "react";

import { strings } from "../../strings";
import { Marked } from "../../text/Marked";
import classes from "../form.module.css";

/** The list that a field is an item of: its title, and whether the field's own label is seen. */
export const InList = createContext<{ title: string } | null>(null);

export function useItemLabel(label: string, path: (string | number)[] = []): { label: string; hidden: boolean } {
  const list = useContext(InList);
  if (list === null) return { label, hidden: false };
  const index = path.at(-1);
  // Without a path it is in the title that the form library gives to items: "Names-1".
  const number = typeof index === "number" ? index + 1 : Number(/-(\d+)$/.exec(label)?.[1]);
  return { label: Number.isNaN(number) ? label : `${list.title}: ${strings.form.item(number)}`, hidden: true };
}

export function Legend({ label, required = false }: { label: string; required?: boolean }) {
  return (
    <legend>
      <Marked text={label} />
      {required && <Required />}
    </legend>
  );
}

export function Required() {
  return (
    <>
      <span aria-hidden className={classes.required}>
        {" *"}
      </span>
      <VisuallyHidden> {strings.form.required}</VisuallyHidden>
    </>
  );
}

export function Said({ id, text }: { id: string; text: string | undefined }) {
  if (text === undefined || text === "") return null;
  return (
    <Text size="xs" c="dimmed" id={id}>
      <Marked text={text} />
    </Text>
  );
}

export function Wrong({ id, messages }: { id: string; messages: string[] | undefined }) {
  if (messages === undefined || messages.length === 0) return null;
  return (
    <Text size="xs" c="var(--mantine-color-error)" id={id}>
      {messages.join(" ")}
    </Text>
  );
}

export interface GroupProps {
  id: string;
  label: string;
  labelHidden?: boolean;
  description?: string | undefined;
  required?: boolean | undefined;
  messages?: string[] | undefined;
  framed?: boolean;
  /** Of which one is chosen. */
  role?: "radiogroup";
  children: ReactNode;
}

/** Several inputs under one name; what is wrong with them is read out with it. */
export function Fieldset({
  id,
  label,
  labelHidden = false,
  description,
  required = false,
  messages,
  framed = false,
  role,
  children,
}: GroupProps) {
  const wrong = messages !== undefined && messages.length > 0;
  const told = [description ? `${id}-said` : "", wrong ? `${id}-wrong` : ""].filter(Boolean).join(" ");
  return (
    <fieldset
      id={id}
      role={role}
      className={framed ? classes.group : classes.plain}
      aria-label={labelHidden ? label : undefined}
      aria-describedby={told || undefined}
      aria-required={role === "radiogroup" && required ? true : undefined}
      data-wrong={wrong || undefined}
    >
      {!labelHidden && label !== "" && <Legend label={label} required={required} />}
      <Said id={`${id}-said`} text={description} />
      {children}
      <Wrong id={`${id}-wrong`} messages={messages} />
    </fieldset>
  );
}
