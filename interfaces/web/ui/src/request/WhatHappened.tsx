// How it ended, and what others did while one looked: said at once, at the top, and never in the way of the form.

import { Alert, Text } from "@mantine/core";

import type { HistoryItem, RequestView } from "../api/client";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import { Marked } from "../text/Marked";
import { useHistory } from "./data";
import classes from "./request.module.css";
import { useWho, type Who } from "./who";

interface Props {
  id: string;
  request: RequestView;
  /** The request as it was when it was opened. */
  since: RequestView;
}

interface Said {
  text: string;
  at: string;
  outcome?: string;
  reason?: string | null;
}

export function WhatHappened({ id, request, since }: Props) {
  const who = useWho();
  const history = useHistory(id).data;
  const said = endOf(request, who) ?? moveOf(history, request, since, who);
  return (
    <div role="status" className={classes.status}>
      {said !== null && (
        <Alert variant="outline" color="gray" className={classes.banner}>
          <Text size="sm" fw={600} component="p" className={classes.said}>
            <Marked text={said.text} />, <Time at={said.at} />
            {said.outcome !== undefined && `: ${said.outcome}`}
          </Text>
          {said.reason != null && said.reason !== "" && (
            <Text size="sm" className={classes.written}>
              <Marked text={said.reason} />
            </Text>
          )}
        </Alert>
      )}
    </div>
  );
}

function endOf(request: RequestView, who: Who): Said | null {
  const { banner, outcome } = strings.request;
  const name = (id: string) => (who.isMe(id) ? banner.you : who.actor(id));
  const { response, cancelled } = request;
  if (response !== null) {
    const shown = response.outcome === "answered" ? undefined : outcome[response.outcome];
    return { text: banner.answered(name(response.by)), at: response.at, outcome: shown };
  }
  if (cancelled !== null) {
    return { text: banner.cancelled(name(cancelled.by)), at: cancelled.at, reason: cancelled.reason };
  }
  return request.status === "Expired" ? { text: banner.expired, at: request.closed_at ?? request.created_at } : null;
}

/** The last move since the request was opened, if somebody else made it. */
function moveOf(history: HistoryItem[] | undefined, request: RequestView, since: RequestView, who: Who): Said | null {
  const last = history?.findLast(({ type }) => type === "Reassigned");
  if (last === undefined || last.position <= since.position || last.position > request.position) return null;
  if (who.isMe(last.actor)) return null;
  const worded = strings.request.banner.moved[String(last.cause)];
  if (worded === undefined) return null;
  const to = last.to as string | null;
  return {
    text: worded(who.actor(last.actor), who.isMe(to) ? strings.request.banner.you : who.target(to)),
    at: last.at,
    reason: last.note as string | null,
  };
}
