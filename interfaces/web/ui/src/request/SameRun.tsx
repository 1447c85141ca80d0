// What else the same run of the agent asked.

import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { answer, api, type RequestView } from "../api/client";
import { useFrames } from "../live/live";
import { plainText } from "../lib/plain-text";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import { Marked } from "../text/Marked";
import { Fold } from "./Fold";
import classes from "./request.module.css";

const AT_MOST = 50;

export function SameRun({ request }: { request: RequestView }) {
  const { run_id, agent, id } = request;
  const found = useQuery({
    queryKey: ["same-run", agent, run_id],
    staleTime: 0,
    enabled: run_id !== null,
    queryFn: () =>
      answer(
        api.GET("/api/requests", {
          params: { query: { run_id: run_id ?? undefined, agent, limit: AT_MOST, sort: "created_at" } },
        }),
      ),
  });
  useFrames((frames) => {
    const known = found.data?.items.map((each) => each.id) ?? [];
    if (frames === "resync" || frames.some((frame) => frame.type === "Requested" || known.includes(frame.request_id)))
      void found.refetch();
  });
  const others = found.data?.items.filter((each) => each.id !== id) ?? [];
  if (others.length === 0) return null;
  return (
    <Fold title={`${strings.request.sameRun} (${others.length})`}>
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
