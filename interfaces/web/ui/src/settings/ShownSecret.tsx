// The secret of a webhook that was made just now: the only time that it can be seen.

import { Button, Group, Stack, Text } from "@mantine/core";

import { strings } from "../strings";
import { Copyable } from "./Copyable";
import classes from "./Settings.module.css";

const text = strings.settings.webhooks;

const focused = (element: HTMLElement | null) => element?.focus();

export function ShownSecret({ value, onStored }: { value: string; onStored: () => void }) {
  return (
    <Stack ref={focused} gap="sm" role="group" aria-label={text.newSecret} tabIndex={-1} className={classes.quiet}>
      <Text size="sm">{text.shownOnce}</Text>
      <div>
        <Copyable label={text.newSecret} value={value} />
      </div>
      <Group>
        <Button onClick={onStored}>{strings.settings.storedIt}</Button>
      </Group>
    </Stack>
  );
}
