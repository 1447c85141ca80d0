// How old what is shown is, and why it is not newer where it could not be read again.

import { Text } from "@mantine/core";

import { reasonOf } from "../lib/State";
import { Time } from "../lib/Time";
import { strings } from "../strings";

const text = strings.settings.webhooks;

export function AsOf({ found }: { found: { dataUpdatedAt: number; error: unknown } }) {
  return (
    <Text size="xs" c="dimmed" component="div">
      {text.asOf} <Time at={new Date(found.dataUpdatedAt).toISOString()} />
      <span role="status">{found.error !== null && ` · ${text.notRead(reasonOf(found.error))}`}</span>
    </Text>
  );
}
