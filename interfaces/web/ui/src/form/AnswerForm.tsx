// Answering a request: the form that its question calls for, in whatever state the request is.

import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { lazy, Suspense, useEffect, useState } from "react";

import type { RequestView } from "../api/client";
import { useSignedIn } from "../api/session";
import { Loading } from "../lib/State";
import { strings } from "../strings";
import { ApprovalForm } from "./ApprovalForm";
import { type Draft, useDraft } from "./drafts";
import { OptionsForm } from "./OptionsForm";
import { ReviewForm } from "./ReviewForm";
import { type Sending, useSending } from "./sending";
import { TextForm } from "./TextForm";
import { WhyNotSent } from "./WhyNotSent";

const SchemaForm = lazy(() => import("./SchemaForm"));

export interface AnswerFormProps {
  request: RequestView;
  mayAnswer: boolean;
  whyNot?: string;
  onAnswered(position: number): void;
}

/** What each of the forms is given. */
export interface FormProps {
  request: RequestView;
  readOnly: boolean;
  sending: Sending;
  draft: Draft;
}

export function AnswerForm(props: AnswerFormProps) {
  return <OneAnswer key={props.request.id} {...props} />;
}

function OneAnswer({ request, mayAnswer, whyNot, onAnswered }: AnswerFormProps) {
  const { me } = useSignedIn();
  const draft = useDraft(me.id, request);
  const sending = useSending(request.id, (position) => {
    draft.drop();
    onAnswered(position);
  });
  // Discarding begins the form anew.
  const [round, setRound] = useState(0);
  const [restored, setRestored] = useState(draft.restored !== undefined);
  const open = request.status === "Requested";
  const byMe = request.response?.by === me.id;
  useEffect(() => {
    if (byMe) draft.drop();
  }, [byMe]); // eslint-disable-line react-hooks/exhaustive-deps

  if (sending.sent || byMe) {
    return (
      <Text size="sm" role="status">
        {strings.form.sent}
      </Text>
    );
  }
  if (!open && !draft.exists && !sending.busy) {
    return (
      <Text size="sm" c="dimmed">
        {strings.form.nothingTyped}
      </Text>
    );
  }
  const readOnly = !open || !mayAnswer;
  const first = round === 0 ? draft.restored : undefined;
  const discard = () => {
    draft.drop();
    sending.forget();
    setRestored(false);
    setRound(round + 1);
  };
  return (
    <Stack gap="sm" maw={640}>
      {open && !mayAnswer && whyNot !== undefined && (
        <Text size="sm" c="dimmed">
          {whyNot}
        </Text>
      )}
      {!open && (
        <Alert variant="default" p="xs" title={strings.form.notSent}>
          <Button variant="default" size="xs" onClick={discard}>
            {strings.form.discard}
          </Button>
        </Alert>
      )}
      {open && restored && draft.exists && (
        <Group gap="xs">
          <Text size="sm" c="dimmed">
            {strings.form.restored}
          </Text>
          <Button variant="subtle" size="compact-sm" onClick={discard}>
            {strings.form.discard}
          </Button>
        </Group>
      )}
      <Form key={round} request={request} readOnly={readOnly} sending={sending} draft={{ ...draft, restored: first }} />
      {open && <WhyNotSent sending={sending} />}
    </Stack>
  );
}

function Form(props: FormProps) {
  const { request } = props;
  if (request.response_schema !== null) {
    return (
      <Suspense fallback={<Loading />}>
        <SchemaForm {...props} />
      </Suspense>
    );
  }
  if (request.options !== null) return <OptionsForm {...props} />;
  if (request.request_type === "approval") return <ApprovalForm {...props} />;
  return request.request_type === "review" ? <ReviewForm {...props} /> : <TextForm {...props} />;
}
