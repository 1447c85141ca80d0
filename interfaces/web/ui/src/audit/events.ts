// The pages of the log that were read, newest first; what comes meanwhile is counted, not pushed under the reader.

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { answer, api, type Schemas } from "../api/client";
import { useThrottled } from "../lib/throttle";
import { useFrames } from "../live/live";
import { auditQuery } from "./filters";

export type AuditItem = Schemas["AuditItem"];

const PER_PAGE = 50;
const EVERY_MS = 1_000;

export function useEvents(query: URLSearchParams) {
  const queries = useQueryClient();
  const queryKey = ["audit", "events", query.toString()];
  const newest = useRef<number | undefined>(undefined);
  const [waiting, setWaiting] = useState({ of: "", count: 0, more: false });

  const read = (cursor: string | undefined) =>
    answer(
      api.GET("/api/audit", {
        params: { query: { ...auditQuery(query), cursor, limit: PER_PAGE, min_position: newest.current } },
      }),
    );
  const pages = useInfiniteQuery({
    queryKey,
    staleTime: 0,
    // Read again only when asked to: reading all pages afresh would move what is being read.
    refetchOnReconnect: false,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => read(pageParam),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const items = pages.data?.pages.flatMap((page) => page.items) ?? [];
  const readTo = pages.data?.pages[0]?.position;

  async function count(): Promise<void> {
    if (readTo === undefined) return;
    const page = await read(undefined);
    const fresh = page.items.filter(({ position }) => position > readTo).length;
    setWaiting({ of: query.toString(), count: fresh, more: fresh === PER_PAGE });
  }
  const soon = useThrottled(() => void count().catch(() => undefined), EVERY_MS);
  useFrames((frames) => {
    if (frames !== "resync") newest.current = Math.max(newest.current ?? 0, ...frames.map(({ position }) => position));
    soon();
  });

  const showNew = () => {
    setWaiting({ of: "", count: 0, more: false });
    return queries.resetQueries({ queryKey });
  };
  const counts = waiting.of === query.toString() && waiting.count > 0;
  const newOnes = counts ? `${waiting.count}${waiting.more ? "+" : ""}` : null;
  return { pages, items, newOnes, showNew };
}
