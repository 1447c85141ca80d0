// How the server that answers is connected to Slack, in a line that keeps up.

import { Group, Text } from "@mantine/core";
import { AlertIcon, CheckCircleIcon, SyncIcon } from "@primer/octicons-react";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { answer, api, type Schemas } from "../api/client";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import classes from "./Settings.module.css";

const text = strings.settings.slack;

const AGAIN_MS = 3_000;

export function SlackConnection() {
  const { data, isError } = useQuery({
    queryKey: ["slack", "connection"],
    gcTime: 0,
    staleTime: 0,
    retry: false, // it is asked again anyway
    refetchInterval: AGAIN_MS,
    queryFn: () => answer(api.GET("/api/human-feedback/slack/connection")),
  });
  // What cannot be found out any more is not shown as if it still were so.
  return <div role="status">{data !== undefined && !isError && <State connection={data} />}</div>;
}

function State({ connection: { state, since, error } }: { connection: Schemas["SlackConnectionView"] }) {
  switch (state) {
    case "off":
      return null;
    case "connecting":
      return <Line sign={<SyncIcon />}>{text.connecting}</Line>;
    case "connected":
      return (
        <Line sign={<CheckCircleIcon />} className={classes.works}>
          {text.connectedSince} <Time at={since} as="clock" />
        </Line>
      );
    case "failing":
      return (
        <Line sign={<AlertIcon />} className={classes.fails}>
          {text.notConnected(error)}
        </Line>
      );
  }
}

function Line({ sign, className, children }: { sign: ReactNode; className?: string | undefined; children: ReactNode }) {
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start" mt="xs" className={className}>
      <span className={classes.sign}>{sign}</span>
      <Text size="sm" className={classes.message}>
        {children}
      </Text>
    </Group>
  );
}
