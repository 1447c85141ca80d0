// How one is told in this browser: for the profile page.

import { Alert, Button, Stack, Switch, Text, Title } from "@mantine/core";
import { useEffect, useState } from "react";

import { answer, api } from "../api/client";
import { reasonOf } from "../lib/State";
import { complain, say } from "../lib/notify";
import { strings } from "../strings";
import { choose, useChoice, usePermission } from "./permission";
import { canPush, isSubscribed, subscribe, unsubscribe } from "./push";
import { show } from "./showing";
import { turnOn } from "./turn-on";

const words = strings.notifications;

export function NotificationSettings() {
  const permission = usePermission();
  const { on, generic } = useChoice();
  const isOn = permission === "granted" && on;
  const possible = permission === "granted" || permission === "default";
  return (
    <Stack component="section" gap="md" aria-labelledby="notifications-title">
      <Title order={2} size="h4" id="notifications-title">
        {words.heading}
      </Title>
      <Text size="sm" c="dimmed">
        {words.state[permission]}
      </Text>
      <Switch
        label={words.on}
        description={words.onHow}
        checked={isOn}
        disabled={!possible}
        onChange={({ currentTarget }) => (currentTarget.checked ? void turnOn() : choose({ on: false }))}
      />
      <Switch
        label={words.hide}
        description={words.hideHow}
        checked={generic}
        disabled={!possible}
        onChange={({ currentTarget }) => choose({ generic: currentTarget.checked })}
      />
      <Push possible={possible} isOn={isOn} />
    </Stack>
  );
}

function Push({ possible, isOn }: { possible: boolean; isOn: boolean }) {
  const [subscribed, setSubscribed] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => void isSubscribed().then(setSubscribed, () => undefined), [isOn]);

  async function change(wanted: boolean): Promise<void> {
    setBusy(true);
    setProblem(null);
    try {
      if (!wanted) await unsubscribe();
      else if (await turnOn()) await subscribe();
    } catch (error) {
      setProblem(words.pushRefused(isOurs(error) ? error.message : reasonOf(error)));
    }
    setSubscribed(await isSubscribed().catch(() => false));
    setBusy(false);
  }

  return (
    <>
      <Switch
        label={words.push}
        description={canPush() ? words.pushHow : words.noPush}
        checked={subscribed}
        disabled={!possible || !canPush() || busy}
        onChange={({ currentTarget }) => void change(currentTarget.checked)}
      />
      {problem !== null && (
        <Alert color="red" variant="outline" role="alert">
          {problem}
        </Alert>
      )}
      <Button variant="default" w="fit-content" disabled={!isOn && !subscribed} onClick={() => void test(subscribed)}>
        {words.test}
      </Button>
    </>
  );
}

function isOurs(error: unknown): error is Error {
  return error instanceof Error && error.message === words.pushUnavailable;
}

async function test(byPush: boolean): Promise<void> {
  if (byPush) {
    try {
      const { reached, failures } = await answer(api.POST("/api/push/test", {}));
      say([words.pushTested(reached), ...failures].join(" "));
    } catch (error) {
      complain(error);
    }
    return;
  }
  const notice = { title: strings.product, body: words.testBody, tag: "test", url: "/inbox", urgent: false };
  say((await show(notice, () => undefined)) ? words.tested : words.state.unsupported);
}
