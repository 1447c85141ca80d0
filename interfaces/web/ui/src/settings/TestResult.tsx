// What came of trying something out, where one did it.

import { Group, Paper, Text } from "@mantine/core";
import { CheckCircleIcon, XCircleIcon } from "@primer/octicons-react";

import classes from "./Settings.module.css";

export interface Tested {
  success: boolean;
  message: string;
}

interface Props {
  tested: Tested | null;
  testing: boolean;
  /** What is said while it goes on. */
  meanwhile: string;
}

export function TestResult({ tested, testing, meanwhile }: Props) {
  return (
    <div role="status">
      {testing && (
        <Text size="sm" c="dimmed" mb="xs">
          {meanwhile}
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
