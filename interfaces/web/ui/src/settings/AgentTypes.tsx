import { Text } from "@mantine/core";

import { useNames } from "../api/names";
import { strings } from "../strings";
import { Collection } from "./Collection";
import type { FieldsProps } from "./EntryForm";
import { agentTypes, type AgentType } from "./kinds";
import { summary } from "./strategy";
import { StrategyForm } from "./StrategyForm";

const text = strings.settings;
const BLANK: AgentType = { id: "", name: "", assignment_strategy: null };

export function AgentTypes() {
  const names = useNames();
  return (
    <Collection
      kind={agentTypes}
      said={text.agentTypes}
      blank={BLANK}
      Fields={AgentTypeFields}
      columns={[
        {
          label: text.strategy.title,
          always: true,
          cell: ({ assignment_strategy: strategy }) => (
            <Text size="sm" c={strategy === null ? "dimmed" : undefined}>
              {strategy === null ? text.strategy.noneHere : summary(strategy, names)}
            </Text>
          ),
        },
      ]}
    />
  );
}

function AgentTypeFields({ values, set, problem }: FieldsProps<AgentType>) {
  return (
    <StrategyForm
      label={text.strategy.title}
      path="assignment_strategy"
      value={values.assignment_strategy}
      onChange={(assignment_strategy) => set({ assignment_strategy })}
      problem={problem}
    />
  );
}
