// One agent's webhook: where it leads, what signs, and what was sent.

import { Anchor, Button, Group, Stack, Switch, Text, Title } from "@mantine/core";
import { ArrowLeftIcon } from "@primer/octicons-react";
import { useState, type FormEvent } from "react";
import { Link, useLocation } from "wouter";

import { answer, api, Refused, type Schemas } from "../api/client";
import { useNames } from "../api/names";
import { say } from "../lib/notify";
import { Empty, Failure, Loading } from "../lib/State";
import { milliseconds } from "../lib/time";
import { strings } from "../strings";
import { Deliveries } from "./Deliveries";
import { Question } from "./Question";
import { Refusal } from "./Refusal";
import classes from "./Settings.module.css";
import { TestResult } from "./TestResult";
import { useTriedForm } from "./tried-form";
import { UrlField } from "./UrlField";
import { of, read, useRead, useWebhook, write, type Stored } from "./webhook-data";
import { WebhookSecret } from "./WebhookSecret";

const text = strings.settings;
const words = text.webhooks;

export function Webhook({ id: agent }: { id: string }) {
  const name = useNames().agent(agent);
  const { data, error, isPending, refetch } = useWebhook(agent);
  const [asksToRemove, setAsksToRemove] = useState<boolean | null>(null); // not any more is false
  const isMissing = error instanceof Refused && error.status === 404;
  return (
    <Stack gap="lg">
      <div>
        <Anchor component={Link} href="/settings/webhooks" size="sm" className={classes.back}>
          <ArrowLeftIcon /> {words.all}
        </Anchor>
        <Group justify="space-between">
          <div>
            <Title order={1} size="h3">
              {name}
            </Title>
            <div className={classes.id}>{agent}</div>
          </div>
          {data !== undefined && !asksToRemove && (
            <Button
              variant="subtle"
              color="red"
              onClick={() => setAsksToRemove(true)}
              autoFocus={asksToRemove === false}
            >
              {words.removal.act}
            </Button>
          )}
        </Group>
      </div>
      {asksToRemove && <Removal agent={agent} name={name} onKeep={() => setAsksToRemove(false)} />}
      {isMissing ? (
        <Empty title={words.noneOfAgent(name)} />
      ) : data !== undefined ? (
        <>
          <WebhookForm agent={agent} stored={data} />
          <Deliveries agent={agent} sends={data.enabled} />
        </>
      ) : isPending ? (
        <Loading />
      ) : (
        <Failure error={error} retry={() => void refetch()} />
      )}
    </Stack>
  );
}

function Removal({ agent, name, onKeep }: { agent: string; name: string; onKeep: () => void }) {
  const [, navigate] = useLocation();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const remove = async () => {
    setBusy(true);
    setError(null);
    try {
      await answer(api.DELETE("/api/agents/{id}/webhook", { params: of(agent) }));
      say(words.removal.done);
      navigate("/settings/webhooks");
    } catch (reason) {
      setError(reason);
      setBusy(false);
    }
  };
  return (
    <Stack gap="xs" maw={620}>
      <Refusal error={error} title={words.removal.notDone} />
      <Question
        question={words.removal.question(name)}
        no={text.keep}
        yes={words.removal.act}
        onNo={onKeep}
        onYes={() => void remove()}
        busy={busy}
      >
        {words.removal.help}
      </Question>
    </Stack>
  );
}

function WebhookForm({ agent, stored }: { agent: string; stored: Stored }) {
  const form = useTriedForm<Schemas["WebhookBody"]>({ url: stored.url, enabled: stored.enabled });
  const readAgain = useRead();
  const [secret, setSecret] = useState<string | null>(null);
  const { values, changes, dirty, doing, refusal, tested, setTested, problem, set, begin, run } = form;

  const save = (event: FormEvent) => {
    event.preventDefault();
    if (!dirty) return;
    void run("save", text.notSaved, async () => {
      // The other field is left as somebody else may have set it meanwhile; and what they removed is not made anew.
      const { url, enabled } = await read(agent);
      const holds = { url, enabled, ...changes };
      const made = await write(agent, holds);
      if (made !== null) setSecret(made);
      begin(holds);
      say(text.saved);
      await readAgain();
    });
  };

  const test = () =>
    run("test", words.notTested, async () => {
      const { delivered, status, error, duration_ms } = await answer(
        api.POST("/api/agents/{id}/webhook/test", { params: of(agent) }),
      );
      const message = delivered ? words.works(status, milliseconds(duration_ms)) : words.worksNot(error ?? "");
      setTested({ success: delivered, message });
    });

  return (
    <Stack gap="lg" maw={620}>
      <form onSubmit={save} noValidate>
        <Stack gap="md">
          <Switch
            label={words.enabled}
            description={words.enabledHelp}
            checked={values.enabled}
            onChange={({ currentTarget }) => set({ enabled: currentTarget.checked })}
            error={problem("enabled")}
          />
          <UrlField value={values.url} onChange={(url) => set({ url })} error={problem("url")} />
          <Refusal error={refusal?.error ?? null} title={refusal?.title ?? ""} />
          <Group justify="space-between" gap="xs">
            <Button
              variant="default"
              onClick={() => void test()}
              loading={doing === "test"}
              disabled={dirty || doing === "save"}
            >
              {words.test}
            </Button>
            <Group gap="xs">
              {dirty && (
                <Button
                  variant="subtle"
                  onClick={() => begin({ url: stored.url, enabled: stored.enabled })}
                  disabled={doing !== null}
                >
                  {text.discard}
                </Button>
              )}
              <Button type="submit" loading={doing === "save"} disabled={!dirty || doing === "test"}>
                {text.save}
              </Button>
            </Group>
          </Group>
          <div>
            <TestResult tested={tested} testing={doing === "test"} meanwhile={words.testing} />
            <Text size="xs" c="dimmed">
              {words.testHelp}
            </Text>
          </div>
        </Stack>
      </form>
      <WebhookSecret agent={agent} stored={stored} fresh={secret} onFresh={setSecret} />
    </Stack>
  );
}
