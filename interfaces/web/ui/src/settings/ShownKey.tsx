// A key that was just made: the only time that it can be seen.

import { Code, Stack, Text } from "@mantine/core";

import { strings } from "../strings";
import { Copyable } from "./Copyable";

const text = strings.settings;

export function ShownKey({ value, isAgents }: { value: string; isAgents: boolean }) {
  return (
    <Stack gap="xs">
      <Text size="sm">{text.shownOnce}</Text>
      <Copyable label={text.key} value={value} />
      <Text size="sm">{text.useKey}</Text>
      <Code block tabIndex={0} role="region" aria-label={text.useKey}>
        {`export HANDRAISE_URL=${location.origin}\nexport HANDRAISE_API_KEY=${value}\n`}
        {isAgents ? 'handraise ask "Shall I go on?"' : "handraise inbox"}
      </Code>
    </Stack>
  );
}
