// The form of a webhook that is to be: for which agent, and where.

import { Button, Group, Stack } from "@mantine/core";
import { useLayoutEffect, useState, type FormEvent } from "react";

import type { FieldProblem } from "../api/client";
import { useAgents } from "../api/names";
import { say } from "../lib/notify";
import { strings } from "../strings";
import { DiscardQuestion } from "./DiscardQuestion";
import { problemAt, problemsOf, useDraft } from "./draft";
import { EntrySelect } from "./fields";
import type { Inside } from "./FormDrawer";
import { useLeaveGuard } from "./guard";
import { Refusal } from "./Refusal";
import classes from "./Settings.module.css";
import { UrlField } from "./UrlField";
import { useRead, write } from "./webhook-data";

const text = strings.settings;

interface Values {
  agent: string | null;
  url: string;
}

interface Props extends Inside {
  /** The agents that have one. */
  taken: string[];
  /** Called with the secret, which is shown nowhere else. */
  onMade: (secret: string | null) => void;
}

export function AddWebhook({ taken, onMade, asksToDiscard, onDirty, onKeep, onLeave }: Props) {
  const agents = useAgents();
  const { values, set, dirty } = useDraft<Values>({ agent: null, url: "" });
  const readAgain = useRead();
  const [error, setError] = useState<unknown>(null);
  const [problems, setProblems] = useState<FieldProblem[]>([]);
  const [busy, setBusy] = useState(false);
  useLayoutEffect(() => onDirty(dirty), [dirty, onDirty]);
  useLeaveGuard(dirty);

  const change = (some: Partial<Values>) => {
    set(some);
    setProblems((before) => before.filter(({ path }) => !(path in some)));
  };

  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setError(null);
    setProblems([]);
    if (values.agent === null) return setProblems([{ path: "agent", message: text.webhooks.chooseAgent }]);
    setBusy(true);
    try {
      onMade(await write(values.agent, { url: values.url, enabled: true }));
      await readAgain();
      say(text.saved);
      onLeave();
    } catch (reason) {
      setError(reason);
      setProblems(problemsOf(reason));
    } finally {
      setBusy(false);
    }
  };

  const problem = problemAt(problems);
  return (
    <form onSubmit={(event) => void save(event)} noValidate className={classes.roomy}>
      <Stack gap="md">
        <EntrySelect
          label={text.agent}
          data-autofocus
          entries={agents.filter(({ id }) => !taken.includes(id) || id === values.agent)}
          value={values.agent}
          onChange={(agent) => change({ agent })}
          error={problem("agent")}
        />
        <UrlField value={values.url} onChange={(url) => change({ url })} error={problem("url")} />
      </Stack>
      <Stack gap="xs" className={classes.foot}>
        <Refusal error={error} />
        {asksToDiscard ? (
          <DiscardQuestion onKeep={onKeep} onLeave={onLeave} />
        ) : (
          <Group justify="end">
            <Button type="submit" loading={busy}>
              {text.save}
            </Button>
          </Group>
        )}
      </Stack>
    </form>
  );
}
