// The accepted answer: what was said, by whom, through what.

import { Text, Title } from "@mantine/core";

import type { RequestView } from "../api/client";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import { AnswerShown } from "./AnswerShown";
import { useHistory } from "./data";
import classes from "./request.module.css";
import { useWho } from "./who";

export function AnswerSection({ id, request }: { id: string; request: RequestView }) {
  const who = useWho();
  const history = useHistory(id).data;
  const { response } = request;
  if (response === null) return null;
  const collected = history?.some(({ type }) => type === "Collected") ?? false;
  const { acknowledged_at: acknowledgedAt } = response;
  return (
    <section aria-labelledby="request-answered" className={classes.answered}>
      <Title order={2} id="request-answered" className={classes.section}>
        {strings.request.answer}
      </Title>
      {response.sealed ? (
        <Text size="sm">
          {strings.request.sealed}
          {history !== undefined && ` ${collected ? strings.request.collected : strings.request.notCollected}`}
        </Text>
      ) : (
        !request.erased && <AnswerShown response={response} schema={request.response_schema} />
      )}
      <Text size="sm" c="dimmed">
        {who.actor(response.by)}, {strings.request.via(response.via)}, <Time at={response.at} as="clock" />
      </Text>
      {(!response.sealed || collected) && (
        <Text size="sm" c="dimmed">
          {acknowledgedAt === null ? (
            strings.request.notAcknowledged
          ) : (
            <>
              {strings.request.acknowledged}, <Time at={acknowledgedAt} as="clock" />
            </>
          )}
        </Text>
      )}
    </section>
  );
}
