import { Button, Group, Stack } from "@mantine/core";
import { useState } from "react";

import { answer, api } from "../api/client";
import { complain } from "../lib/notify";
import { strings } from "../strings";
import { useWritten } from "./entries";
import type { Key } from "./kinds";
import { Question } from "./Question";
import { ShownKey } from "./ShownKey";

const text = strings.settings;

export function RotateKey({ of: key }: { of: Key }) {
  const written = useWritten();
  const [asks, setAsks] = useState(false);
  const [busy, setBusy] = useState(false);
  const [fresh, setFresh] = useState<string | null>(null);
  const rotate = async () => {
    setBusy(true);
    try {
      const made = await answer(api.POST("/api/keys/{id}/rotate", { params: { path: { id: key.id } } }));
      setFresh(made.key);
      await written(made.position).catch(() => undefined); // it is replaced, whatever becomes of reading it again
    } catch (error) {
      complain(error);
    } finally {
      setAsks(false);
      setBusy(false);
    }
  };
  return (
    <Stack gap="sm">
      {asks ? (
        <Question
          question={text.rotateQuestion}
          no={text.keep}
          yes={text.rotate}
          onNo={() => setAsks(false)}
          onYes={() => void rotate()}
          busy={busy}
        >
          {text.rotateHelp}
        </Question>
      ) : (
        <Group>
          <Button variant="default" onClick={() => setAsks(true)}>
            {text.rotate}
          </Button>
        </Group>
      )}
      {fresh !== null && <ShownKey value={fresh} isAgents={key.agent !== null} />}
    </Stack>
  );
}
