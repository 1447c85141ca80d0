// How this server reaches Slack: set up, tried out, with no token shown once it is stored.

import { Button, Code, Group, Stack, Switch, Text, TextInput, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState, type FormEvent } from "react";

import { answer, api, type Schemas } from "../api/client";
import { say } from "../lib/notify";
import { Failure, Loading } from "../lib/State";
import { strings } from "../strings";
import { NumberField } from "./fields";
import { Refusal } from "./Refusal";
import { SlackConnection } from "./SlackConnection";
import { inWords } from "./StrategyForm";
import { TestResult } from "./TestResult";
import { TokenField } from "./TokenField";
import { useTriedForm } from "./tried-form";

const text = strings.settings.slack;

type Config = Schemas["SlackView"];

/** The delay may be text, or nothing, while it is no number: the server then says what is wrong with it. */
interface Values extends Omit<Config, "notification_delay_seconds"> {
  notification_delay_seconds: number | string | null;
}

const QUERY = ["slack"];

export function Slack() {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: QUERY,
    gcTime: 0, // whoever comes back begins with what holds then
    staleTime: Infinity, // and what one fills in is not about something else suddenly
    queryFn: () => answer(api.GET("/api/human-feedback/slack/config")),
  });
  return (
    <Stack gap="lg" maw={620}>
      <div>
        <Title order={1} size="h3">
          {text.title}
        </Title>
        <Text size="sm" c="dimmed">
          {text.help}
        </Text>
        <SlackConnection />
      </div>
      {data !== undefined ? (
        <SlackForm config={data} />
      ) : isPending ? (
        <Loading />
      ) : (
        <Failure error={error} retry={() => void refetch()} />
      )}
    </Stack>
  );
}

function SlackForm({ config }: { config: Config }) {
  const queries = useQueryClient();
  const form = useTriedForm<Values>(config);
  const [beginnings, setBeginnings] = useState(0);
  const edits = useRef(0);
  const { values, changes, dirty, doing, refusal, tested, problem, run } = form;
  const body = changes as Schemas["SlackBody"];

  const set = (some: Partial<Values>) => {
    edits.current += 1;
    form.set(some);
  };

  const begin = (holds: Config) => {
    edits.current += 1;
    setBeginnings((count) => count + 1);
    form.begin(holds);
  };

  const save = (event: FormEvent) => {
    event.preventDefault();
    if (!dirty) return;
    void run("save", strings.settings.notSaved, async () => {
      const { position: _, ...holds } = await answer(api.POST("/api/human-feedback/slack/config", { body }));
      queries.setQueryData(QUERY, holds);
      begin(holds);
      say(strings.settings.saved);
    });
  };

  const test = () =>
    run("test", text.notTested, async () => {
      const about = edits.current;
      const result = await answer(api.POST("/api/human-feedback/slack/test", { body }));
      if (edits.current === about) form.setTested(result);
    });

  return (
    <form onSubmit={save} noValidate>
      <Stack gap="md">
        <Switch
          label={text.enabled}
          description={text.enabledHelp}
          checked={values.enabled}
          onChange={({ currentTarget }) => set({ enabled: currentTarget.checked })}
          error={problem("enabled")}
        />
        <Text size="sm">
          {text.where} <Code>{text.document}</Code>
        </Text>
        <TextInput
          label={text.channel}
          description={text.channelHelp}
          placeholder="C0123456789"
          value={values.channel_id ?? ""}
          onChange={({ currentTarget }) => set({ channel_id: currentTarget.value.trim() || null })}
          error={problem("channel_id")}
          autoComplete="off"
          spellCheck={false}
        />
        <TokenField
          key={`bot ${beginnings}`}
          label={text.botToken}
          help={text.botTokenHelp}
          stored={config.bot_token}
          value={values.bot_token}
          onChange={(bot_token) => set({ bot_token })}
          error={problem("bot_token")}
        />
        <TokenField
          key={`app ${beginnings}`}
          label={text.appToken}
          help={text.appTokenHelp}
          stored={config.app_token}
          value={values.app_token}
          onChange={(app_token) => set({ app_token })}
          error={problem("app_token")}
        />
        <NumberField
          label={text.delay}
          description={[inWords(values.notification_delay_seconds, 1), text.delayHelp].filter(Boolean).join(". ")}
          value={values.notification_delay_seconds}
          onChange={(number) => set({ notification_delay_seconds: number ?? null })}
          error={problem("notification_delay_seconds")}
        />
        <Refusal error={refusal?.error ?? null} title={refusal?.title ?? ""} />
        <Group justify="space-between" gap="xs">
          <Button variant="default" onClick={() => void test()} loading={doing === "test"} disabled={doing === "save"}>
            {text.test}
          </Button>
          <Group gap="xs">
            {dirty && (
              <Button variant="subtle" onClick={() => begin(config)} disabled={doing !== null}>
                {strings.settings.discard}
              </Button>
            )}
            <Button type="submit" loading={doing === "save"} disabled={!dirty || doing === "test"}>
              {strings.settings.save}
            </Button>
          </Group>
        </Group>
        <div>
          <TestResult tested={tested} testing={doing === "test"} meanwhile={text.testing} />
          <Text size="xs" c="dimmed">
            {text.testHelp}
          </Text>
        </div>
      </Stack>
    </form>
  );
}
