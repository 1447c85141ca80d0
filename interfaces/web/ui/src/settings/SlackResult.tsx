// What came of trying Slack out, where one did it.

import { Group, Paper, Text } from "@mantine/core";
import { CheckCircleIcon, XCircleIcon } from "@primer/octicons-react";

import type { Schemas } from "../api/client";
import { strings } from "../strings";
import classes from "./Settings.module.css";

export type Tested = Schemas["SlackTestedView"];

export function SlackResult({ tested, testing }: { tested: Tested | null; testing: boolean }) {
  return (
    <div role="status">
      {testing && (
        <Text size="sm" c="dimmed" mb="xs">
          {strings.settings.slack.testing}
        </Text>
      )}
      {tested !== null && (
        <Paper withBorder p="sm" mb="sm" className={tested.success ? classes.works : classes.fails}>
          <Group gap="xs" wrap="nowrap" align="flex-start">
            <span className={classes.sign}>{tested.success ? <CheckCircleIcon /> : <XCircleIcon />}</span>
            <Text size="sm" className={classes.message}>
              {tested.message}
            </Text>
          </Group>
        </Paper>
      )}
    </div>
  );
}
