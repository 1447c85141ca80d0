// Putting a request out of one's inbox for a while.

import { Radio, Stack, TextInput } from "@mantine/core";
import { useState } from "react";

import { fromLocalInput, toLocalInput } from "../lib/local-input";
import { clock } from "../lib/time";
import { strings } from "../strings";
import { ActDialog, type DialogProps } from "./ActDialog";
import { snooze } from "./commands";
import { useAct } from "./useAct";

type Preset = "half" | "hour" | "tomorrow" | "custom";

const MINUTE = 60_000;

function presetInstant(preset: Preset, now: number): Date {
  if (preset === "half") return new Date(now + 30 * MINUTE);
  if (preset === "hour") return new Date(now + 60 * MINUTE);
  const at = new Date(now);
  at.setDate(at.getDate() + 1);
  at.setHours(9, 0, 0, 0); // in the viewer's own zone
  return at;
}

export function SnoozeDialog({ id, request, onClose }: DialogProps) {
  const [preset, setPreset] = useState<Preset>("half");
  const [custom, setCustom] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [opened] = useState(() => Date.now());
  const acting = useAct(id);

  const confirm = async () => {
    const until = preset === "custom" ? fromLocalInput(custom) : presetInstant(preset, Date.now()).toISOString();
    if (until === null || Date.parse(until) <= Date.now()) {
      setProblem(strings.act.inPast);
      return;
    }
    setProblem(null);
    if (await acting.act(() => snooze(request.id, until), strings.act.snoozed)) onClose();
  };
  return (
    <ActDialog
      title={strings.act.snoozeTitle}
      how={strings.act.snoozeHow}
      confirm={strings.act.doSnooze}
      acting={acting}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <Radio.Group label={strings.act.until} value={preset} onChange={(value) => setPreset(value as Preset)}>
        <Stack gap="xs" mt="xs">
          {(["half", "hour", "tomorrow"] as const).map((each) => (
            <Radio
              key={each}
              value={each}
              label={strings.act.presets[each]}
              description={clock(presetInstant(each, opened).toISOString(), opened)}
            />
          ))}
          <Radio value="custom" label={strings.act.presets.custom} />
        </Stack>
      </Radio.Group>
      {preset === "custom" && (
        <TextInput
          type="datetime-local"
          label={strings.act.customUntil}
          value={custom}
          min={toLocalInput(new Date(opened).toISOString())}
          error={problem}
          onChange={(event) => setCustom(event.currentTarget.value)}
        />
      )}
    </ActDialog>
  );
}
