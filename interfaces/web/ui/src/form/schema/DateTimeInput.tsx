// A date and time as the viewer's clock shows it, kept as an instant with its offset.

import { SegmentedControl, Stack, Text, TextInput, type TextInputProps } from "@mantine/core";

import { strings } from "../../strings";
import { instantsOf, localOf, offsetOf, withOffset, zone } from "./instants";

interface Props extends Omit<TextInputProps, "value" | "onChange"> {
  value: unknown;
  onChange: (value: string) => void;
}

export function DateTimeInput({ value, onChange, description, ...props }: Props) {
  const text = typeof value === "string" ? value : "";
  const local = localOf(text);
  const instants = instantsOf(local);
  const at = instants.find((instant) => instant === Date.parse(text)) ?? instants[0];
  const change = (typed: string) => {
    const [first] = instantsOf(typed);
    // A time that does not exist is kept as it was typed, so that it can be pointed out.
    onChange(typed === "" || first === undefined ? typed : withOffset(typed, first));
  };
  return (
    <Stack gap={4}>
      <TextInput
        {...props}
        type="datetime-local"
        step={local.length > 16 ? 1 : undefined}
        value={local}
        onChange={(event) => change(event.currentTarget.value)}
        description={
          <>
            {description}
            {description !== undefined && <br />}
            {strings.form.zone(zone, offsetOf(at ?? Date.now()))}
          </>
        }
      />
      {instants.length > 1 && (
        <div>
          <Text size="xs" id={`${props.id}-twice`}>
            {strings.form.twice}
          </Text>
          <SegmentedControl
            size="xs"
            aria-labelledby={`${props.id}-twice`}
            readOnly={props.readOnly}
            value={String(at)}
            onChange={(chosen) => onChange(withOffset(local, Number(chosen)))}
            data={[
              { value: String(instants[0]), label: strings.form.earlier(offsetOf(instants[0]!)) },
              { value: String(instants[1]), label: strings.form.later(offsetOf(instants[1]!)) },
            ]}
          />
        </div>
      )}
    </Stack>
  );
}
