import { Stack, Text, Textarea } from "@mantine/core";
import { useRef, useState } from "react";

import { strings } from "../strings";
import type { FormProps } from "./AnswerForm";
import { formOf } from "./drafts";
import classes from "./form.module.css";
import { SendBar, SendingForm } from "./SendingForm";

/** For a schema that has no form: the answer is written as JSON, and the server says what is wrong with it. */
export function JsonForm({ request, readOnly, sending, draft }: FormProps) {
  const [text, setText] = useState(formOf(draft).json ?? "");
  const [wrong, setWrong] = useState<string | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const change = (typed: string) => {
    setText(typed);
    setWrong(null);
    draft.keep(typed === "" ? undefined : { json: typed });
  };
  const send = () => {
    const read = parsed(text);
    setWrong(read === undefined ? strings.form.wrong.json : null);
    if (read === undefined) field.current?.focus();
    else sending.send({ data: read.data });
  };
  const said = sending.problems.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join(" ");
  return (
    <SendingForm readOnly={readOnly} send={send}>
      <Stack gap="xs">
        <Textarea
          ref={field}
          label={`${strings.form.answer} (${strings.form.json})`}
          description={strings.form.asJson}
          value={text}
          readOnly={readOnly}
          error={wrong ?? (said || undefined)}
          autosize
          minRows={6}
          maxRows={30}
          spellCheck={false}
          autoComplete="off"
          classNames={{ input: request.secret ? `${classes.json} ${classes.masked}` : classes.json }}
          onChange={(event) => change(event.currentTarget.value)}
        />
        <details>
          <Text component="summary" size="sm">
            {strings.form.schema}
          </Text>
          <Text component="pre" size="xs" className={classes.schema}>
            {JSON.stringify(request.response_schema, null, 2)}
          </Text>
        </details>
        {!readOnly && <SendBar busy={sending.busy} />}
      </Stack>
    </SendingForm>
  );
}

function parsed(text: string): { data: unknown } | undefined {
  try {
    return { data: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
