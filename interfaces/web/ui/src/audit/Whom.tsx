// From whom to whom a request went. The log knows people by their inner ids; the request's history by their names.

import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { answer, api, type HistoryItem } from "../api/client";
import { useNames, type Names } from "../api/names";
import { strings } from "../strings";
import type { AuditItem } from "./events";

const MOVES = new Set(["Requested", "Reassigned", "Notified"]);

export function movesSomebody(event: AuditItem): boolean {
  return MOVES.has(event.type);
}

export function Whom({ event, requestId }: { event: AuditItem; requestId: string }) {
  const names = useNames();
  const history = useQuery({
    queryKey: ["audit", "history", requestId, event.position],
    staleTime: Infinity,
    queryFn: () =>
      answer(
        api.GET("/api/requests/{id}/history", {
          params: { path: { id: requestId }, query: { min_position: event.position } },
        }),
      ),
  });
  const found = history.data?.items.find(({ position }) => position === event.position);
  if (found === undefined) return null;
  return (
    <Text size="sm">
      <bdi>{inWords(found as HistoryItem, names)}</bdi>
    </Text>
  );
}

function inWords(event: HistoryItem, names: Names): string {
  const words = strings.events;
  const who = (id: unknown) => (typeof id === "string" ? names.person(id) : words.nobody);
  const reason = (event.assignment as { reason?: string } | undefined)?.reason ?? "";
  switch (event.type) {
    case "Reassigned":
      return `${words.moved(who(event.from), who(event.to))} ${reason}`;
    case "Notified":
      return event.to === null ? "" : words.told(who(event.to));
    default:
      return reason;
  }
}
