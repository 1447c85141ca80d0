// What else the same run of the agent asked.

import { Anchor, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "wouter";

import { answer, api, type RequestView } from "../api/client";
import { useFrames } from "../live/live";
import { readAfresh } from "../lib/afresh";
import { plainText } from "../lib/plain-text";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import { Marked } from "../text/Marked";
import { Fold } from "./Fold";
import classes from "./request.module.css";

const AT_MOST = 50;

export function SameRun({ request }: { request: RequestView }) {
  const { id, agent, run_id } = request;
  return run_id === null ? null : <OthersOf id={id} agent={agent} run={run_id} />;
}

function OthersOf({ id, agent, run }: { id: string; agent: string; run: string }) {
  const queries = useQueryClient();
  const queryKey = ["same-run", agent, run];
  const found = useQuery({
    queryKey,
    staleTime: 0,
    queryFn: () => {
      const query = { run_id: run, agent, limit: AT_MOST, sort: "created_at" as const };
      return answer(api.GET("/api/requests", { params: { query } }));
    },
  });
  useFrames((frames) => {
    const known = found.data?.items.map((each) => each.id) ?? [];
    if (frames === "resync" || frames.some((frame) => frame.type === "Requested" || known.includes(frame.request_id)))
      void readAfresh(queries, { queryKey });
  });
  const others = found.data?.items.filter((each) => each.id !== id) ?? [];
  if (others.length === 0) return null;
  return (
    <Fold title={strings.request.sameRun(others.length, found.data?.next_cursor != null)}>
      <ul className={classes.run}>
        {others.map((each) => (
          <li key={each.id}>
            <Anchor component={Link} href={`/requests/${each.id}`} size="sm">
              <Marked text={plainText(each.summary ?? each.unique_id)} />
            </Anchor>
            <Text size="xs" c="dimmed">
              {each.status === "Requested" ? strings.status.open : strings.request.closedAs(each.status, each.outcome)},{" "}
              <Time at={each.closed_at ?? each.created_at} />
            </Text>
          </li>
        ))}
      </ul>
    </Fold>
  );
}
