// A strategy: whom to ask, how soon, and who is next when nobody reacts. As a form, or as JSON with the same value.

import { Fieldset, Group, SegmentedControl, SimpleGrid, Stack, Text, Textarea } from "@mantine/core";
import { useState } from "react";

import { duration } from "../lib/time";
import { strings } from "../strings";
import type { ProblemAt } from "./draft";
import { Ladder } from "./Ladder";
import { NumberField } from "./fields";
import classes from "./Settings.module.css";
import { changed, fitsForm, isObject, type Strategy, type StrategyValue } from "./strategy";
import { WhomFields } from "./WhomFields";

const text = strings.settings.strategy;

interface Props {
  label: string;
  /** Where it stands in what is sent, as the server names it in its errors. */
  path: string;
  value: StrategyValue;
  onChange: (value: StrategyValue) => void;
  problem: ProblemAt;
  /** What "none" means here. */
  none?: string;
}

export function StrategyForm({ label, path, value, onChange, problem, none = text.none }: Props) {
  const [asJson, setAsJson] = useState(false);
  const json = asJson || !fitsForm(value);
  return (
    <Fieldset legend={label} classNames={{ legend: classes.legend }} p="sm">
      <Stack gap="sm">
        <Group justify="end">
          <SegmentedControl
            size="xs"
            aria-label={text.editAs}
            value={json ? "json" : "form"}
            onChange={(way) => setAsJson(way === "json")}
            data={[
              { value: "form", label: text.asForm, disabled: !fitsForm(value) },
              { value: "json", label: text.asJson },
            ]}
          />
        </Group>
        {json || !fitsForm(value) ? (
          <JsonField value={value} onChange={onChange} error={problem(path)} />
        ) : (
          <>
            <WhomFields
              path={path}
              value={value}
              onChange={onChange}
              problem={problem}
              none={none}
              onNone={() => onChange(null)}
            />
            {problem(path) !== undefined && (
              <Text size="sm" c="red">
                {problem(path)}
              </Text>
            )}
            {value !== null && <TimeFields path={path} value={value} onChange={onChange} problem={problem} />}
          </>
        )}
      </Stack>
    </Fieldset>
  );
}

interface TimeProps {
  path: string;
  value: Strategy;
  onChange: (value: Strategy) => void;
  problem: ProblemAt;
}

function TimeFields({ path, value, onChange, problem }: TimeProps) {
  const numbers = [
    { name: "priority", label: text.priority, help: text.priorityHelp },
    { name: "expirationMinutes", label: text.expiration, help: inWords(value.expirationMinutes, 60) ?? text.noEnd },
    { name: "remindMinutes", label: text.remind, help: inWords(value.remindMinutes, 60) ?? text.never },
    { name: "notifyDelaySeconds", label: text.delay, help: inWords(value.notifyDelaySeconds, 1) ?? text.asChannel },
  ];
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        {numbers.map(({ name, label, help }) => (
          <NumberField
            key={name}
            label={label}
            description={help}
            value={value[name]}
            onChange={(number) => onChange(changed(value, { [name]: number }))}
            error={problem(`${path}/${name}`)}
          />
        ))}
      </SimpleGrid>
      <Ladder path={`${path}/escalation`} strategy={value} onChange={onChange} problem={problem} />
    </>
  );
}

/** A number of minutes or seconds as people say it. */
export function inWords(value: unknown, seconds: number): string | undefined {
  return typeof value === "number" && value >= 0 ? `= ${duration(value * seconds)}` : undefined;
}

interface JsonProps {
  value: StrategyValue;
  onChange: (value: StrategyValue) => void;
  error: string | undefined;
}

function JsonField({ value, onChange, error }: JsonProps) {
  const [typed, setTyped] = useState(() => written(value));
  // What was changed elsewhere is shown; what one types stays as one types it.
  const shown = JSON.stringify(read(typed)) === JSON.stringify(value) ? typed : written(value);
  return (
    <Textarea
      label={text.json}
      description={text.jsonHelp}
      value={shown}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        onChange(read(currentTarget.value));
      }}
      error={error ?? (typeof read(shown) === "string" ? text.noJson : undefined)}
      autosize
      minRows={8}
      maxRows={24}
      spellCheck={false}
      styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: "0.8rem" } }}
    />
  );
}

function written(value: StrategyValue): string {
  return value === null ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function read(typed: string): StrategyValue {
  if (typed.trim() === "") return null;
  try {
    const value: unknown = JSON.parse(typed);
    return value === null || isObject(value) ? value : typed;
  } catch {
    return typed;
  }
}
