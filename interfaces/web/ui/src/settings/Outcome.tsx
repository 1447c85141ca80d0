// What came of one attempt to report a request.

import { Group, Text } from "@mantine/core";
import { AlertIcon, CheckCircleIcon, XCircleIcon } from "@primer/octicons-react";
import type { ReactNode } from "react";

import { strings } from "../strings";
import classes from "./Settings.module.css";
import type { Delivery } from "./webhook-data";

const SIGNS = { delivered: <CheckCircleIcon />, failed: <AlertIcon />, given_up: <XCircleIcon /> };

interface Props {
  of: Delivery;
  /** Said after the word, on its line. */
  children?: ReactNode;
  /** Said in a line of its own. */
  below?: ReactNode;
}

export function Outcome({ of: { outcome, error }, children, below }: Props) {
  const fared = outcome === "delivered" ? classes.works : classes.fails;
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start" className={fared}>
      <span className={classes.sign}>{SIGNS[outcome]}</span>
      <Text size="sm" component="div" className={classes.message}>
        {strings.settings.webhooks.outcomes[outcome]}{" "}
        <Text span size="sm" c="dimmed">
          {children}
        </Text>
        {error !== null && (
          <Text size="xs" c="dimmed">
            {error}
          </Text>
        )}
        {below}
      </Text>
    </Group>
  );
}
