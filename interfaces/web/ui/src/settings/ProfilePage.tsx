// One's own page: when one is there, how one signs in, how one is told.

import { Button, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { lazy, Suspense, useState, type FormEvent, type ReactNode } from "react";

import { answer, api, type FieldProblem, type Me } from "../api/client";
import { useSignedIn } from "../api/session";
import { say } from "../lib/notify";
import { Loading } from "../lib/State";
import { usePageTitle } from "../shell/title";
import { strings } from "../strings";
import { AppearanceChoice } from "./AppearanceChoice";
import { AvailabilityFields } from "./AvailabilityFields";
import { problemAt, problemsOf, useDraft } from "./draft";
import { useWritten } from "./entries";
import { useLeaveGuard } from "./guard";
import type { Availability, Person } from "./kinds";
import { PasswordForm } from "./PasswordForm";
import classes from "./Profile.module.css";
import { Refusal } from "./Refusal";
import shared from "./Settings.module.css";
import { SignOutEverywhere } from "./SignOutEverywhere";

const NotificationSettings = lazy(async () => {
  const { NotificationSettings: Shown } = await import("../notifications/NotificationSettings");
  return { default: Shown };
});

const text = strings.profile;

export default function ProfilePage() {
  usePageTitle(text.title);
  const { me } = useSignedIn();
  return (
    <Stack className={`${classes.profile} ${shared.roomy}`} gap="lg">
      <Title order={1} size="h3">
        {text.title}
      </Title>
      <Part title={text.you}>
        <dl className={classes.facts}>
          <dt>{strings.settings.name}</dt>
          <dd>{me.name}</dd>
          <dt>{strings.settings.id}</dt>
          <dd>{me.id}</dd>
          <dt>{strings.settings.email}</dt>
          <dd>{me.email ?? text.noEmail}</dd>
          <dt>{strings.settings.role}</dt>
          <dd>{strings.settings.roles[(me as unknown as Person).role]}</dd>
        </dl>
        <Text size="xs" c="dimmed">
          {text.changedByAdministrators}
        </Text>
      </Part>
      <Part title={text.availability}>
        <OwnAvailability me={me} />
      </Part>
      <Paper withBorder p="md">
        <Suspense fallback={<Loading />}>
          <NotificationSettings />
        </Suspense>
      </Paper>
      <Part title={text.appearance}>
        <AppearanceChoice />
      </Part>
      <Part title={text.password}>
        <PasswordForm />
      </Part>
      <Part title={text.sessions}>
        <SignOutEverywhere />
      </Part>
    </Stack>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section">
      <Title order={2} size="h4" mb="sm">
        {title}
      </Title>
      {children}
    </Paper>
  );
}

function ownFields(me: Me): Availability {
  const { time_zone = null, quiet_hours = null, out_of_office = null, slack_user_id = null } = me;
  return { time_zone, quiet_hours, out_of_office, slack_user_id } as Availability;
}

function OwnAvailability({ me }: { me: Me }) {
  const draft = useDraft(ownFields(me));
  const written = useWritten();
  const [error, setError] = useState<unknown>(null);
  const [problems, setProblems] = useState<FieldProblem[]>([]);
  const [busy, setBusy] = useState(false);
  const { values, changes, dirty } = draft;
  useLeaveGuard(dirty);

  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (busy || !dirty) return;
    setBusy(true);
    setError(null);
    setProblems([]);
    try {
      const { position } = await answer(api.PATCH("/api/me", { body: changes as never }));
      draft.restart(values);
      say(strings.settings.saved);
      await written(position).catch(() => undefined); // it is saved, whatever becomes of reading it again
    } catch (reason) {
      setError(reason);
      setProblems(problemsOf(reason));
    } finally {
      setBusy(false);
    }
  };

  return (
    <form onSubmit={(event) => void save(event)} noValidate>
      <Stack gap="md">
        <AvailabilityFields values={values} set={draft.set} problem={problemAt(problems)} />
        <Refusal error={error} />
        <Group justify="end">
          {dirty && (
            <Button variant="subtle" onClick={() => draft.restart(ownFields(me))}>
              {strings.settings.discard}
            </Button>
          )}
          <Button type="submit" loading={busy} disabled={!dirty}>
            {strings.settings.save}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
