import { Button, Group, Stack, Textarea } from "@mantine/core";
import { useRef, useState } from "react";

import { useShortcuts } from "../lib/shortcuts";
import { strings } from "../strings";
import { Marked } from "../text/Marked";
import type { FormProps } from "./AnswerForm";
import { textOf } from "./drafts";
import { labelsOf } from "./labels";
import { SecretInput } from "./SecretInput";

/** Yes or no, and why. The keys `a` and `r` press the buttons. */
export function ApprovalForm({ request, readOnly, sending, draft }: FormProps) {
  const labels = labelsOf(request);
  const [note, setNote] = useState(textOf(draft));
  const [pressed, setPressed] = useState<boolean | null>(null);
  const approve = useRef<HTMLButtonElement>(null);
  const reject = useRef<HTMLButtonElement>(null);
  const change = (text: string) => {
    setNote(text);
    draft.keep(text === "" ? undefined : text);
  };
  const decide = (approved: boolean) => {
    setPressed(approved);
    sending.send({ data: note.trim() === "" ? { approved } : { approved, note } });
  };
  const press = (button: HTMLButtonElement | null) => (event: KeyboardEvent) => {
    if (button === null || event.repeat) return;
    event.preventDefault();
    button.focus();
    button.click();
  };
  useShortcuts({
    a: (event) => press(approve.current)(event),
    r: (event) => press(reject.current)(event),
  });
  if (readOnly && note === "") return null;
  const Note = request.secret ? SecretInput : Textarea;
  return (
    <Stack gap="sm">
      {!readOnly && (
        <Group gap="xs">
          <Button
            ref={approve}
            loading={sending.busy && pressed === true}
            disabled={sending.busy}
            onClick={() => decide(true)}
          >
            <Marked text={labels.approve} />
          </Button>
          <Button
            ref={reject}
            variant="default"
            loading={sending.busy && pressed === false}
            disabled={sending.busy}
            onClick={() => decide(false)}
          >
            <Marked text={labels.reject} />
          </Button>
        </Group>
      )}
      <Note
        label={strings.form.note}
        description={strings.form.optional}
        value={note}
        readOnly={readOnly}
        onChange={(event) => change(event.currentTarget.value)}
        autosize
        minRows={2}
        maxRows={12}
        error={sending.problems.find(({ path }) => path === "note")?.message}
      />
    </Stack>
  );
}
