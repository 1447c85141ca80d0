// One of a few values, or several of them: what is chosen is the value itself, never its label.

import { Button, Checkbox, Radio, Select, Stack } from "@mantine/core";
import type { WidgetProps } from "@rjsf/utils";

import { strings } from "../../strings";
import { Marked } from "../../text/Marked";
import classes from "../form.module.css";
import { LABELS } from "./display";
import { isObject, sameJson, type Schema } from "./json";
import { Fieldset, useItemLabel } from "./parts";

const FEW = 7;

export interface Choice {
  value: unknown;
  label: string;
}

export function ChoiceWidget(props: WidgetProps) {
  const { id, options, schema, value, required, readonly, rawErrors, onChange, multiple, uiSchema } = props;
  const { label, hidden } = useItemLabel(props.label);
  const choices = choicesOf(schema as Schema, options.enumOptions ?? [], options["enumNames"]);
  const description = options.description ?? schema.description;
  const shared = { id, label, labelHidden: hidden, description, required, messages: rawErrors };
  if (multiple === true) {
    const chosen: unknown[] = Array.isArray(value) ? value : [];
    const toggle = (choice: Choice) => {
      const has = chosen.some((each) => sameJson(each, choice.value));
      const wanted = (each: Choice) => (each === choice ? !has : chosen.some((one) => sameJson(one, each.value)));
      const next = choices.filter(wanted).map((each) => each.value);
      onChange(next.length === 0 && !required ? undefined : next);
    };
    return (
      <Fieldset {...shared}>
        <Stack gap={2} mt={4}>
          {choices.map((choice) => (
            <Checkbox
              key={choice.label}
              className={classes.choice}
              label={<Marked text={choice.label} />}
              checked={chosen.some((each) => sameJson(each, choice.value))}
              disabled={readonly}
              aria-invalid={isWrong(rawErrors)}
              onChange={() => toggle(choice)}
            />
          ))}
        </Stack>
      </Fieldset>
    );
  }
  const chosen = value === undefined ? -1 : choices.findIndex((choice) => sameJson(choice.value, value));
  const wanted = uiSchema?.["ui:widget"];
  if (wanted === "select" || (choices.length > FEW && wanted !== "radio")) {
    return (
      <Select
        id={id}
        label={hidden ? undefined : <Marked text={label} />}
        aria-label={hidden ? label : undefined}
        description={description}
        required={required}
        error={rawErrors?.join(" ")}
        placeholder={strings.form.select}
        searchable
        clearable={!required}
        clearButtonProps={{ "aria-label": strings.form.clear }}
        readOnly={readonly}
        data={choices.map((choice, index) => ({ value: String(index), label: choice.label }))}
        value={chosen === -1 ? null : String(chosen)}
        onChange={(index) => onChange(index === null ? undefined : choices[Number(index)]?.value)}
      />
    );
  }
  return (
    <RadioChoices
      {...shared}
      labels={choices.map((choice) => choice.label)}
      chosen={chosen}
      readOnly={readonly ?? false}
      onChoose={(index) => onChange(index === -1 ? undefined : choices[index]?.value)}
    />
  );
}

interface RadioProps {
  id: string;
  label: string;
  labelHidden?: boolean;
  description?: string | undefined;
  required?: boolean | undefined;
  messages?: string[] | undefined;
  labels: string[];
  chosen: number;
  readOnly: boolean;
  clearable?: boolean;
  /** -1: none any more. */
  onChoose: (index: number) => void;
}

export function RadioChoices({ labels, chosen, readOnly, clearable, onChoose, ...shared }: RadioProps) {
  return (
    <Fieldset {...shared} role="radiogroup">
      <Stack gap={2} mt={4} align="flex-start">
        {labels.map((label, index) => (
          <Radio
            key={index}
            name={shared.id}
            className={classes.choice}
            label={<Marked text={label} />}
            checked={index === chosen}
            disabled={readOnly && index !== chosen}
            aria-invalid={isWrong(shared.messages)}
            onChange={() => {
              if (!readOnly) onChoose(index);
            }}
          />
        ))}
        {chosen !== -1 && (clearable ?? shared.required !== true) && !readOnly && (
          <Button
            variant="subtle"
            size="compact-xs"
            aria-label={`${strings.form.clear}: ${shared.label}`}
            onClick={() => onChoose(-1)}
          >
            {strings.form.clear}
          </Button>
        )}
      </Stack>
    </Fieldset>
  );
}

function isWrong(messages: string[] | undefined): true | undefined {
  return messages !== undefined && messages.length > 0 ? true : undefined;
}

function choicesOf(
  schema: Schema,
  options: { value: unknown; label: string; schema?: unknown }[],
  named: unknown,
): Choice[] {
  const items = isObject(schema["items"]) ? schema["items"] : {};
  const labels = schema[LABELS] ?? items[LABELS];
  return options.map(({ value, label }, index) => {
    const hinted = Array.isArray(named) ? named[index] : isObject(named) ? named[String(value)] : undefined;
    if (typeof hinted === "string" && hinted !== "") return { value, label: hinted };
    const own = Array.isArray(labels) ? labels[index] : undefined;
    return { value, label: typeof own === "string" ? own : label };
  });
}
