import { Button, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";

import { answer, api } from "../api/client";
import { complain } from "../lib/notify";
import { strings } from "../strings";
import { Question } from "./Question";

const text = strings.profile;

export function SignOutEverywhere() {
  const [asks, setAsks] = useState(false);
  const [busy, setBusy] = useState(false);
  const signOut = async () => {
    setBusy(true);
    try {
      await answer(api.DELETE("/api/sessions", {}));
      location.assign("/sign-in");
    } catch (error) {
      complain(error);
      setBusy(false);
    }
  };
  return (
    <Stack gap="sm">
      <Text size="sm">{text.sessionsHelp}</Text>
      {asks ? (
        <Question
          question={text.signOutQuestion}
          no={strings.settings.keep}
          yes={text.signOutEverywhere}
          onNo={() => setAsks(false)}
          onYes={() => void signOut()}
          busy={busy}
        />
      ) : (
        <Group>
          <Button variant="default" onClick={() => setAsks(true)}>
            {text.signOutEverywhere}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
