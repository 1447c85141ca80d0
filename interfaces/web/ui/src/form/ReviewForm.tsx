import { Button, Stack } from "@mantine/core";
import { useRef } from "react";

import { useShortcuts } from "../lib/shortcuts";
import { strings } from "../strings";
import { Marked } from "../text/Marked";
import type { FormProps } from "./AnswerForm";
import { labelsOf } from "./labels";
import { TextForm } from "./TextForm";

/** Approval by its button alone; any other text asks for changes. */
export function ReviewForm(props: FormProps) {
  const { request, readOnly, sending } = props;
  const labels = labelsOf(request);
  const approve = useRef<HTMLButtonElement>(null);
  useShortcuts({
    a: (event) => {
      if (approve.current === null || event.repeat) return;
      event.preventDefault();
      approve.current.focus();
      approve.current.click();
    },
  });
  return (
    <Stack gap="sm" align="stretch">
      {!readOnly && (
        <Button
          ref={approve}
          w="fit-content"
          disabled={sending.busy}
          onClick={() => sending.send({ text: labels.approve })}
        >
          <Marked text={labels.approve} />
        </Button>
      )}
      <TextForm
        {...props}
        label={strings.form.feedback}
        action={strings.form.askForChanges}
        notThis={{ text: labels.approve, why: strings.form.notFeedback(labels.approve) }}
      />
    </Stack>
  );
}
