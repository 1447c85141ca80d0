import { Stack, Textarea } from "@mantine/core";
import { useRef, useState } from "react";

import { strings } from "../strings";
import type { FormProps } from "./AnswerForm";
import { textOf } from "./drafts";
import { SecretInput } from "./SecretInput";
import { SendBar, SendingForm } from "./SendingForm";

interface Props extends FormProps {
  label?: string;
  action?: string;
  /** Text that would mean something else than what is written here. */
  notThis?: { text: string; why: string };
}

/** Free text, sent exactly as it was typed. */
export function TextForm({ request, readOnly, sending, draft, label, action, notThis }: Props) {
  const [text, setText] = useState(textOf(draft));
  const [wrong, setWrong] = useState<string | null>(null);
  const field = useRef<HTMLTextAreaElement & HTMLInputElement>(null);
  const change = (typed: string) => {
    setText(typed);
    setWrong(null);
    draft.keep(typed === "" ? undefined : typed);
  };
  const send = () => {
    const fault = isBlank(text) ? strings.form.empty : text === notThis?.text ? notThis.why : null;
    setWrong(fault);
    if (fault !== null) field.current?.focus();
    else sending.send({ text });
  };
  const shared = {
    ref: field,
    label: label ?? strings.form.answer,
    value: text,
    readOnly,
    error: wrong ?? sending.problems[0]?.message,
    onChange: (event: { currentTarget: { value: string } }) => change(event.currentTarget.value),
  };
  return (
    <SendingForm readOnly={readOnly} send={send}>
      <Stack gap="xs">
        {request.secret ? (
          <SecretInput {...shared} isCode />
        ) : (
          <Textarea {...shared} autosize minRows={3} maxRows={24} />
        )}
        {!readOnly && (
          <SendBar busy={sending.busy} label={action} variant={notThis === undefined ? "filled" : "default"} />
        )}
      </Stack>
    </SendingForm>
  );
}

/** Nothing that can be seen: the server refuses it. */
function isBlank(text: string): boolean {
  return /^[\s\p{Cc}\p{Cf}]*$/u.test(text);
}
