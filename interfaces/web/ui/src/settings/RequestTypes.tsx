import { Checkbox, SimpleGrid, Text } from "@mantine/core";

import { useNames } from "../api/names";
import { strings } from "../strings";
import { Collection } from "./Collection";
import type { FieldsProps } from "./EntryForm";
import { NumberField } from "./fields";
import { requestTypes, type RequestType } from "./kinds";
import { summary } from "./strategy";
import { inWords, StrategyForm } from "./StrategyForm";

const text = strings.settings;

const BLANK: RequestType = {
  id: "",
  name: "",
  default_assignment_strategy: null,
  default_priority: null,
  default_expiration_minutes: null,
  no_self_answer: false,
  erase_after_days: null,
};

export function RequestTypes() {
  const names = useNames();
  return (
    <Collection
      kind={requestTypes}
      said={text.requestTypes}
      blank={BLANK}
      Fields={RequestTypeFields}
      columns={[
        {
          label: text.strategy.title,
          always: true,
          cell: ({ default_assignment_strategy: strategy }) => (
            <Text size="sm" c={strategy === null ? "dimmed" : undefined}>
              {strategy === null ? text.strategy.noneHere : summary(strategy, names)}
            </Text>
          ),
        },
        { label: text.strategy.priority, cell: ({ default_priority }) => <Text size="sm">{default_priority}</Text> },
        {
          label: text.expires,
          cell: ({ default_expiration_minutes }) => (
            <Text size="sm">{inWords(default_expiration_minutes, 60)?.replace("= ", "")}</Text>
          ),
        },
      ]}
    />
  );
}

function RequestTypeFields({ values, set, problem }: FieldsProps<RequestType>) {
  return (
    <>
      <StrategyForm
        label={text.strategy.title}
        path="default_assignment_strategy"
        value={values.default_assignment_strategy}
        onChange={(default_assignment_strategy) => set({ default_assignment_strategy })}
        problem={problem}
        none={text.strategy.noneLast}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <NumberField
          label={text.defaultPriority}
          description={text.strategy.priorityHelp}
          value={values.default_priority}
          onChange={(number) => set({ default_priority: number ?? null })}
          error={problem("default_priority")}
        />
        <NumberField
          label={text.defaultExpiration}
          description={inWords(values.default_expiration_minutes, 60) ?? text.strategy.noEnd}
          value={values.default_expiration_minutes}
          onChange={(number) => set({ default_expiration_minutes: number ?? null })}
          error={problem("default_expiration_minutes")}
        />
      </SimpleGrid>
      <NumberField
        label={text.eraseAfter}
        description={text.eraseAfterHelp}
        value={values.erase_after_days}
        onChange={(number) => set({ erase_after_days: number ?? null })}
        error={problem("erase_after_days")}
      />
      <Checkbox
        label={text.noSelfAnswer}
        description={text.noSelfAnswerHelp}
        checked={values.no_self_answer}
        onChange={({ currentTarget }) => set({ no_self_answer: currentTarget.checked })}
        error={problem("no_self_answer")}
      />
    </>
  );
}
