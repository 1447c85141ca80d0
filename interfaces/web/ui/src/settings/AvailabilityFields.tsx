// When somebody wants no notices and is not to be asked, and who stands in: of oneself, or of others.

import { Fieldset, Group, Stack, Text, TextInput } from "@mantine/core";
import type { ReactNode } from "react";

import { strings } from "../strings";
import type { ProblemAt } from "./draft";
import { PersonSelect, TimeZoneSelect } from "./fields";
import type { Availability, Span } from "./kinds";
import classes from "./Settings.module.css";

const text = strings.settings;

interface Props {
  values: Availability;
  set: (changes: Partial<Availability>) => void;
  problem: ProblemAt;
}

export function AvailabilityFields({ values, set, problem }: Props) {
  return (
    <Stack gap="md">
      <TimeZoneSelect
        value={values.time_zone}
        onChange={(time_zone) => set({ time_zone })}
        error={problem("time_zone")}
      />
      <SpanFields
        legend={text.quietHours}
        description={text.quietHoursHelp}
        type="time"
        path="quiet_hours"
        span={values.quiet_hours}
        onChange={(quiet_hours) => set({ quiet_hours })}
        problem={problem}
      />
      <SpanFields
        legend={text.outOfOffice}
        description={text.outOfOfficeHelp}
        type="date"
        path="out_of_office"
        span={values.out_of_office}
        onChange={(span) =>
          set({ out_of_office: span && { ...span, stand_in: values.out_of_office?.stand_in ?? null } })
        }
        problem={problem}
      >
        <PersonSelect
          mt="xs"
          label={text.standIn}
          disabled={values.out_of_office === null}
          value={values.out_of_office?.stand_in}
          onChange={(stand_in) => values.out_of_office && set({ out_of_office: { ...values.out_of_office, stand_in } })}
          error={problem("out_of_office/stand_in")}
        />
      </SpanFields>
      <TextInput
        label={text.slackId}
        placeholder="U012ABCDEF"
        value={values.slack_user_id ?? ""}
        onChange={({ currentTarget }) => set({ slack_user_id: currentTarget.value || null })}
        error={problem("slack_user_id")}
      />
    </Stack>
  );
}

interface SpanProps {
  legend: string;
  description: string;
  type: "time" | "date";
  path: string;
  span: Span | null;
  onChange: (span: Span | null) => void;
  problem: ProblemAt;
  children?: ReactNode;
}

function SpanFields({ legend, description, type, path, span, onChange, problem, children }: SpanProps) {
  const change = (end: Partial<Span>) => {
    const now = { from: "", to: "", ...span, ...end };
    onChange(now.from === "" && now.to === "" ? null : { from: now.from, to: now.to });
  };
  return (
    <Fieldset legend={legend} classNames={{ legend: classes.legend }} p="sm">
      <Group grow align="start" gap="sm">
        <TextInput
          type={type}
          label={text.from}
          value={span?.from ?? ""}
          onChange={({ currentTarget }) => change({ from: currentTarget.value })}
          error={problem(`${path}/from`) ?? problem(path)}
        />
        <TextInput
          type={type}
          label={text.to}
          value={span?.to ?? ""}
          onChange={({ currentTarget }) => change({ to: currentTarget.value })}
          error={problem(`${path}/to`)}
        />
      </Group>
      {children}
      <Text size="xs" c="dimmed" mt="xs">
        {description}
      </Text>
    </Fieldset>
  );
}
