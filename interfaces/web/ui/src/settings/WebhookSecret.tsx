// What an agent's webhook signs with: only how it begins and ends, but for a moment after it was made.

import { Button, Code, Group, Input, Stack, Text } from "@mantine/core";
import { useId } from "@mantine/hooks";
import { useState } from "react";

import { answer, api } from "../api/client";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import { Question } from "./Question";
import { Refusal } from "./Refusal";
import classes from "./Settings.module.css";
import { ShownSecret } from "./ShownSecret";
import { of, useRead, type Stored } from "./webhook-data";

const text = strings.settings;
const words = text.webhooks;

interface Props {
  agent: string;
  stored: Stored;
  /** The secret whole, just after it was made. */
  fresh: string | null;
  onFresh: (secret: string | null) => void;
}

export function WebhookSecret({ agent, stored, fresh, onFresh }: Props) {
  const id = useId();
  const readAgain = useRead();
  const [asks, setAsks] = useState<boolean | null>(null); // not any more is false
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const { secret, previous_secret_until: until } = stored;

  const rotate = async () => {
    setBusy(true);
    setError(null);
    try {
      const made = await answer(api.POST("/api/agents/{id}/webhook/rotate", { params: of(agent) }));
      onFresh(made.secret);
      await readAgain();
    } catch (reason) {
      setError(reason);
    } finally {
      setAsks(false);
      setBusy(false);
    }
  };

  return (
    <Stack gap="sm">
      <Input.Wrapper
        role="group"
        aria-labelledby={`${id}-label`}
        labelElement="div"
        labelProps={{ id: `${id}-label` }}
        label={words.secret}
        description={words.secretHelp}
      >
        <Group gap="xs" className={classes.token}>
          <Text size="sm" className={classes.stored}>
            {secret === null ? words.secretLost : <Code>{secret}</Code>}
            {until !== null && (
              <Text span size="sm" c="dimmed">
                {` ${words.previousUntil} `}
                <Time at={until} as="clock" />
              </Text>
            )}
          </Text>
          {!asks && fresh === null && (
            <Button variant="default" size="xs" onClick={() => setAsks(true)} autoFocus={asks === false}>
              {words.rotate}
            </Button>
          )}
        </Group>
      </Input.Wrapper>
      <Refusal error={error} title={words.notRotated} />
      {asks && (
        <Question
          question={words.rotateQuestion}
          no={text.keep}
          yes={words.rotate}
          onNo={() => setAsks(false)}
          onYes={() => void rotate()}
          busy={busy}
        >
          {words.rotateHelp} {until !== null && words.rotateTwice}
        </Question>
      )}
      {fresh !== null && <ShownSecret value={fresh} onStored={() => onFresh(null)} />}
    </Stack>
  );
}
