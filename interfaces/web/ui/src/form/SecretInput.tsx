// A masked field: what is typed can be shown, and nobody offers to remember it.

import { PasswordInput, type PasswordInputProps, Textarea } from "@mantine/core";
import { type Ref, useState } from "react";

import { strings } from "../strings";
import classes from "./form.module.css";

interface Props extends Omit<PasswordInputProps, "onChange"> {
  onChange: (event: { currentTarget: { value: string } }) => void;
  /** One that was sent to the person a moment ago: the browser may offer it. */
  isCode?: boolean;
  autosize?: boolean;
  minRows?: number;
  maxRows?: number;
  ref?: Ref<HTMLInputElement & HTMLTextAreaElement>;
}

export function SecretInput({ isCode = false, autosize: _, minRows: __, maxRows: ___, ref, ...props }: Props) {
  // A masked field has one line, and would drop the breaks of a key that is pasted.
  const [lines, setLines] = useState(false);
  const complete = { autoComplete: isCode ? "one-time-code" : "off", spellCheck: false };
  if (lines || String(props.value ?? "").includes("\n")) {
    const { label, description, error, required, readOnly, disabled, value, onChange, id } = props;
    const shown = { label, description, error, required, readOnly, disabled, value, id };
    return (
      <Textarea
        ref={ref}
        {...shown}
        {...complete}
        autoFocus
        onChange={onChange}
        rows={5}
        classNames={{ input: classes.masked }}
      />
    );
  }
  return (
    <PasswordInput
      ref={ref}
      {...props}
      {...complete}
      visibilityToggleButtonProps={{ "aria-label": strings.form.showSecret, tabIndex: 0 }}
      onPaste={(event) => {
        const pasted = event.clipboardData.getData("text");
        if (!pasted.trim().includes("\n") || props.readOnly) return;
        event.preventDefault();
        setLines(true);
        props.onChange({ currentTarget: { value: String(props.value ?? "") + pasted } });
      }}
    />
  );
}
