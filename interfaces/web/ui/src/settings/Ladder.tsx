// The escalation ladder: what happens step by step while nobody reacts.

import { ActionIcon, Button, Checkbox, Group, Stack, Text } from "@mantine/core";
import { PlusIcon, XIcon } from "@primer/octicons-react";
import { useId } from "@mantine/hooks";

import { strings } from "../strings";
import type { ProblemAt } from "./draft";
import { NumberField } from "./fields";
import classes from "./Settings.module.css";
import { inWords } from "./StrategyForm";
import { changed, retyped, stepsOf, typeOf, type Step, type Strategy } from "./strategy";
import { WhomFields } from "./WhomFields";

const text = strings.settings.strategy;
const LONGEST = 20;

interface Props {
  path: string;
  strategy: Strategy;
  onChange: (strategy: Strategy) => void;
  problem: ProblemAt;
}

export function Ladder({ path, strategy, onChange, problem }: Props) {
  const id = useId();
  const steps = stepsOf(strategy);
  const change = (now: Step[]) => onChange(changed(strategy, { escalation: now.length > 0 ? now : undefined }));
  return (
    <Stack gap="xs" role="group" aria-labelledby={id}>
      <Text id={id} size="sm" fw={600}>
        {text.ladder}
      </Text>
      {steps.length === 0 && (
        <Text size="sm" c="dimmed">
          {text.noLadder}
        </Text>
      )}
      {steps.map((step, place) => (
        <StepFields
          key={place}
          place={place}
          isLast={place === steps.length - 1}
          path={`${path}/${place}`}
          step={step}
          around={strategy}
          onChange={(now) => change(steps.map((each, other) => (other === place ? now : each)))}
          onRemove={() => change(steps.filter((_, other) => other !== place))}
          problem={problem}
        />
      ))}
      {problem(path) !== undefined && (
        <Text size="sm" c="red">
          {problem(path)}
        </Text>
      )}
      {steps.length < LONGEST && (
        <Group>
          <Button
            variant="default"
            size="xs"
            leftSection={<PlusIcon />}
            onClick={() => change([...steps, { afterMinutes: 60, to: {} }])}
          >
            {text.addStep}
          </Button>
        </Group>
      )}
    </Stack>
  );
}

interface StepProps {
  place: number;
  isLast: boolean;
  path: string;
  step: Step;
  around: Strategy;
  onChange: (step: Step) => void;
  onRemove: () => void;
  problem: ProblemAt;
}

function StepFields({ place, isLast, path, step, around, onChange, onRemove, problem }: StepProps) {
  const id = useId();
  const set = (fields: Record<string, unknown>) => onChange(changed(step, fields));
  return (
    <Stack gap="sm" className={classes.step} role="group" aria-labelledby={id}>
      <Group justify="space-between">
        <Text id={id} size="sm" fw={600}>
          {text.step(place + 1)}
        </Text>
        <ActionIcon
          variant="subtle"
          color="gray"
          size={32}
          className={classes.touch}
          aria-label={text.removeStep(place + 1)}
          onClick={onRemove}
        >
          <XIcon />
        </ActionIcon>
      </Group>
      <NumberField
        label={place === 0 ? text.afterStart : text.afterStep}
        description={inWords(step.afterMinutes, 60)}
        value={step.afterMinutes}
        onChange={(afterMinutes) => set({ afterMinutes })}
        error={problem(`${path}/afterMinutes`)}
      />
      <WhomFields
        path={`${path}/to`}
        value={step.to}
        around={around}
        onChange={(to) => set({ to })}
        problem={problem}
        none=""
        onNone={() => set({ to: retyped(step.to, undefined, typeOf(around)) })}
      />
      <Checkbox
        label={text.notifyOnly}
        description={text.notifyOnlyHelp}
        checked={step.notifyOnly === true}
        onChange={({ currentTarget }) => set({ notifyOnly: currentTarget.checked || undefined })}
      />
      {(isLast || step.repeat === true) && (
        <Checkbox
          label={text.repeat}
          checked={step.repeat === true}
          onChange={({ currentTarget }) => set({ repeat: currentTarget.checked || undefined })}
          error={problem(`${path}/repeat`)}
        />
      )}
    </Stack>
  );
}
