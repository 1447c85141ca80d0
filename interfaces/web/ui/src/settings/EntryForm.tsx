// The form of one entry: saves only what changed, says where the server refuses what, removes after asking.

import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useLayoutEffect, useState, type ComponentType, type FormEvent } from "react";

import type { FieldProblem } from "../api/client";
import { say } from "../lib/notify";
import { strings } from "../strings";
import { DiscardQuestion } from "./DiscardQuestion";
import { problemAt, problemsOf, useDraft, type ProblemAt } from "./draft";
import { useWritten } from "./entries";
import { useLeaveGuard } from "./guard";
import type { Body, Entry, Kind } from "./kinds";
import { Question } from "./Question";
import { Refusal } from "./Refusal";
import classes from "./Settings.module.css";

const text = strings.settings;

export interface FieldsProps<T> {
  values: T;
  set: (changes: Partial<T>) => void;
  problem: ProblemAt;
  /** None while it is being made. */
  entry: T | null;
}

/** How it is called to take an entry away. */
export interface Removal {
  act: string;
  done: string;
  question: (name: string) => string;
  help: string;
}

interface Props<T extends Entry> {
  kind: Kind<T>;
  entry: T | null;
  /** What a new one says before anybody has said anything. */
  blank: T;
  /** What a new one begins with. */
  preset?: Partial<T> | undefined;
  Fields: ComponentType<FieldsProps<T>>;
  removable: boolean;
  removal?: Removal | undefined;
  asksToDiscard: boolean;
  onDirty: (dirty: boolean) => void;
  onKeep: () => void;
  onLeave: () => void;
  onDone: () => void;
}

export function EntryForm<T extends Entry>(props: Props<T>) {
  const { kind, entry, blank, preset, Fields, removable, removal = text.removal } = props;
  const { asksToDiscard, onDirty, onKeep, onLeave, onDone } = props;
  const draft = useDraft<T>(entry ?? { ...blank, ...preset });
  const written = useWritten();
  const [error, setError] = useState<unknown>(null);
  const [problems, setProblems] = useState<FieldProblem[]>([]);
  const [busy, setBusy] = useState(false);
  const [asksToRemove, setAsksToRemove] = useState(false);
  const { values, changes, dirty } = draft;
  useLayoutEffect(() => onDirty(dirty), [dirty, onDirty]);
  useLeaveGuard(dirty);

  const set = (some: Partial<T>) => {
    draft.set(some);
    setProblems((before) => before.filter(({ path }) => !((path.split("/")[0] ?? "") in some)));
  };

  const run = async (what: "saved" | "removed", write: () => Promise<{ position: number }>) => {
    setBusy(true);
    setError(null);
    setProblems([]);
    try {
      const { position } = await write();
      await written(position).catch(() => undefined); // it is saved, whatever becomes of reading it again
      say(what === "saved" ? text.saved : removal.done);
      onDone();
    } catch (reason) {
      setError(reason);
      setProblems(problemsOf(reason));
      setAsksToRemove(false);
    } finally {
      setBusy(false);
    }
  };

  const save = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    if (busy) return;
    if (entry !== null && !dirty) return onLeave();
    const { id, ...said } = { ...preset, ...changes } as Body;
    void run("saved", () =>
      entry === null
        ? kind.add({ ...said, name: values.name ?? "", ...(id ? { id } : {}) })
        : kind.change(entry.id, said),
    );
  };

  const problem = problemAt(problems);
  return (
    <form onSubmit={save} noValidate className={classes.roomy}>
      <Stack gap="md">
        <TextInput
          label={text.name}
          data-autofocus
          value={values.name ?? ""}
          onChange={({ currentTarget }) => set({ name: currentTarget.value } as Partial<T>)}
          error={problem("name")}
        />
        <TextInput
          label={text.id}
          description={entry === null ? text.idHelp : text.idFixed}
          readOnly={entry !== null}
          variant={entry === null ? "default" : "filled"}
          value={values.id}
          onChange={({ currentTarget }) => set({ id: currentTarget.value } as Partial<T>)}
          error={problem("id")}
          autoComplete="off"
          spellCheck={false}
        />
        <Fields values={values} set={set} problem={problem} entry={entry} />
      </Stack>
      <Stack gap="xs" className={classes.foot}>
        <Refusal error={error} />
        {asksToDiscard ? (
          <DiscardQuestion onKeep={onKeep} onLeave={onLeave} />
        ) : asksToRemove && entry !== null ? (
          <Question
            question={removal.question(entry.name ?? entry.id)}
            no={text.keep}
            yes={removal.act}
            onNo={() => setAsksToRemove(false)}
            onYes={() => void run("removed", () => kind.remove(entry.id))}
            busy={busy}
          >
            {removal.help}
          </Question>
        ) : (
          <Group justify="space-between">
            {entry !== null && removable ? (
              <Button variant="subtle" color="red" onClick={() => setAsksToRemove(true)}>
                {removal.act}
              </Button>
            ) : (
              <span />
            )}
            <Button type="submit" loading={busy}>
              {text.save}
            </Button>
          </Group>
        )}
      </Stack>
    </form>
  );
}
