// Single fields: what is typed is kept as the type that the schema asks for, or as it was typed.

import { Checkbox, Textarea, TextInput } from "@mantine/core";
import type { RegistryWidgetsType, WidgetProps } from "@rjsf/utils";
import { type ReactNode, useState } from "react";

import { strings } from "../../strings";
import { Marked } from "../../text/Marked";
import { SecretInput } from "../SecretInput";
import { ChoiceWidget } from "./choices";
import { DateTimeInput } from "./DateTimeInput";
import { NULLABLE, START } from "./display";
import { offsetOf, timeWithOffset, zone } from "./instants";
import type { Schema } from "./json";
import { Required, useItemLabel } from "./parts";
import { numberOf } from "./values";

/** What all fields are told. */
export interface Surroundings {
  secret: boolean;
}

function useShared(props: WidgetProps) {
  const { id, required, readonly, rawErrors, options, schema, placeholder, autofocus, value, onChange } = props;
  const { label, hidden } = useItemLabel(props.label);
  const said = [options.description ?? schema.description, options.help].filter(
    (each) => typeof each === "string" && each !== "",
  );
  const description: ReactNode = said.length === 0 ? undefined : <Marked text={said.join("\n")} />;
  const field = {
    id,
    label: hidden ? undefined : <Marked text={label} />,
    "aria-label": hidden ? label : undefined,
    description,
    required,
    readOnly: readonly,
    error: rawErrors?.join(" "),
    placeholder: placeholder === "" ? undefined : placeholder,
    autoFocus: autofocus,
    "data-autofocus": autofocus || undefined,
  };
  const change = (text: string) => onChange(text === "" ? emptied(schema as Schema, required === true) : text);
  return { field, label, hidden, description, text: textOf(value), change };
}

/** What a field holds whose text was deleted: a field that need not be there is not there any more. */
function emptied(schema: Schema, required: boolean): unknown {
  if (schema[NULLABLE] === true && schema[START] === null) return null;
  return required && schema["type"] === "string" && schema["format"] === undefined ? "" : undefined;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" ? String(value) : "";
}

/** Null said by a tick, where it is not simply what an empty field means. */
function NoValue({ schema, required, value, readonly, onChange, label }: WidgetProps) {
  if ((schema as Schema)[NULLABLE] !== true || required !== true) return null;
  return (
    <Checkbox
      mt={4}
      size="xs"
      label={strings.form.noValue}
      aria-label={`${label}: ${strings.form.noValue}`}
      checked={value === null}
      disabled={readonly}
      onChange={(event) => onChange(event.currentTarget.checked ? null : undefined)}
    />
  );
}

function TextWidget(props: WidgetProps) {
  const { schema } = props;
  const { field, text, change } = useShared(props);
  if (schema.type === "number" || schema.type === "integer") return <NumberWidget {...props} />;
  if (isSecret(props)) return <SecretWidget {...props} />;
  const digitsOnly = /^\^?(\[0-9\]|\\d|[{}\d,+*])+\$?$/.test(schema.pattern ?? "x");
  return (
    <div>
      <TextInput
        {...field}
        type={TYPES[schema.format ?? ""] ?? "text"}
        inputMode={digitsOnly ? "numeric" : undefined}
        autoComplete={isCode(props) ? "one-time-code" : "off"}
        value={text}
        onChange={(event) => change(event.currentTarget.value)}
      />
      <NoValue {...props} />
    </div>
  );
}

const TYPES: Record<string, string> = { email: "email", uri: "url", date: "date" };

/** Not a number field of the browser: those round, drop what they do not understand, and change by the wheel. */
function NumberWidget(props: WidgetProps) {
  const { value, schema, onChange, required } = props;
  const { field } = useShared(props);
  const [typed, setTyped] = useState(textOf(value));
  const shown = numberOf(typed) === value || (typed === "" && value === undefined) ? typed : textOf(value);
  const change = (text: string) => {
    setTyped(text);
    onChange(text.trim() === "" ? emptied(schema as Schema, required === true) : numberOf(text));
  };
  const shared = {
    ...field,
    inputMode: schema.type === "integer" ? ("numeric" as const) : ("decimal" as const),
    value: shown,
  };
  return (
    <div>
      {isSecret(props) ? (
        <SecretInput {...shared} isCode={isCode(props)} onChange={(event) => change(event.currentTarget.value)} />
      ) : (
        <TextInput {...shared} autoComplete="off" onChange={(event) => change(event.currentTarget.value)} />
      )}
      <NoValue {...props} />
    </div>
  );
}

function SecretWidget(props: WidgetProps) {
  const { field, text, change } = useShared(props);
  return (
    <SecretInput
      {...field}
      isCode={isCode(props)}
      value={text}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}

function isSecret({ schema, registry }: WidgetProps): boolean {
  return (registry.formContext as Surroundings).secret || schema.writeOnly === true || schema.format === "password";
}

/** A code that was sent to the person, rather than a password that they keep. */
function isCode({ schema, name, label }: WidgetProps): boolean {
  return /\b(code|otp|pin|2fa|mfa|tan|passcode|one.?time)\b/i.test(
    `${name.replaceAll("_", " ")} ${label} ${schema.description ?? ""}`,
  );
}

function TextareaWidget(props: WidgetProps) {
  const { field, text, change } = useShared(props);
  if (isSecret(props)) return <SecretWidget {...props} />;
  const rows = typeof props.options.rows === "number" ? Math.min(Math.max(props.options.rows, 1), 30) : 3;
  return (
    <div>
      <Textarea
        {...field}
        autosize
        minRows={rows}
        maxRows={30}
        value={text}
        onChange={(event) => change(event.currentTarget.value)}
      />
      <NoValue {...props} />
    </div>
  );
}

function DateTimeWidget(props: WidgetProps) {
  const { field, change } = useShared(props);
  if (isSecret(props)) return <SecretWidget {...props} />;
  return (
    <div>
      <DateTimeInput {...field} value={props.value} onChange={change} />
      <NoValue {...props} />
    </div>
  );
}

function TimeWidget(props: WidgetProps) {
  const { field, text, change, description } = useShared(props);
  if (isSecret(props)) return <SecretWidget {...props} />;
  const offset = /([Zz]|[+-]\d\d:\d\d)$/.exec(text)?.[0];
  const said =
    offset === undefined || timeWithOffset("00:00").endsWith(offset)
      ? strings.form.zone(zone, offsetOf(Date.now()))
      : offset;
  return (
    <TextInput
      {...field}
      type="time"
      step={/^\d\d:\d\d:(?!00)/.test(text) ? 1 : undefined}
      description={
        <>
          {description}
          {description !== undefined && <br />}
          {said}
        </>
      }
      value={text.replace(/:00(?=\D|$).*$/, "").replace(/(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/, "")}
      onChange={(event) => change(event.currentTarget.value === "" ? "" : timeWithOffset(event.currentTarget.value))}
    />
  );
}

function CheckboxWidget(props: WidgetProps) {
  const { value, required, readonly, schema, onChange, rawErrors } = props;
  const { field, label, description } = useShared(props);
  // Only a box that must be ticked is "required": any other is answered as it stands.
  const mustTick = required === true && schema.const === true;
  return (
    <Checkbox
      id={field.id}
      label={
        <>
          <Marked text={label} />
          {mustTick && <Required />}
        </>
      }
      description={description}
      error={rawErrors?.join(" ")}
      checked={value === true}
      disabled={readonly}
      aria-invalid={rawErrors !== undefined && rawErrors.length > 0 ? true : undefined}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  );
}

export const widgets: RegistryWidgetsType = {
  TextWidget,
  TextareaWidget,
  PasswordWidget: SecretWidget,
  EmailWidget: TextWidget,
  URLWidget: TextWidget,
  DateWidget: TextWidget,
  DateTimeWidget,
  TimeWidget,
  UpDownWidget: NumberWidget,
  SelectWidget: ChoiceWidget,
  RadioWidget: ChoiceWidget,
  CheckboxesWidget: ChoiceWidget,
  CheckboxWidget,
};
