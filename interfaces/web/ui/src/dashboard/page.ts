// The page of the list that is shown, kept true while things happen: rows change where they stand, and new requests
// wait for a click, so that nothing moves under a hand.

import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { answer, api, type RequestItem, type Schemas } from "../api/client";
import { readAfresh } from "../lib/afresh";
import { useThrottled } from "../lib/throttle";
import { useFrames } from "../live/live";
import { listQuery, sizeOf } from "./filters";

type Page = Schemas["RequestPage"];

export const REQUESTS = ["requests"];
const AT_ONCE = 200;
const EVERY_MS = 500;

export function usePage(query: URLSearchParams) {
  const queries = useQueryClient();
  const cursor = query.get("cursor") ?? undefined;
  const queryKey = [...REQUESTS, query.toString()];
  const newest = useRef<number | undefined>(undefined);
  const changed = useRef(new Set<string>());
  const asked = useRef(new Set<string>());
  const [waiting, setWaiting] = useState<{ of: string; ids: ReadonlySet<string> }>({ of: "", ids: new Set() });

  const page = useQuery({
    queryKey,
    staleTime: 0,
    placeholderData: keepPreviousData,
    queryFn: () => read({ ...listQuery(query), cursor, limit: Number(sizeOf(query)), min_position: newest.current }),
  });
  const items = page.data?.items ?? [];

  function readAgain(position?: number): Promise<void> {
    if (position !== undefined) newest.current = Math.max(newest.current ?? 0, position);
    setWaiting({ of: "", ids: new Set() });
    return readAfresh(queries, { queryKey: REQUESTS });
  }

  async function update(): Promise<void> {
    const min_position = newest.current;
    const rows = take(changed.current);
    const fresh = take(asked.current);
    if (rows.length > 0) {
      const found = await read({ ids: rows, limit: AT_ONCE, min_position });
      const now = new Map(found.items.map((item) => [item.id, item]));
      // Whatever one may not see any more is gone.
      const gone = new Set(rows.filter((id) => !now.has(id)));
      queries.setQueryData<Page>(queryKey, (shown) => {
        if (shown === undefined) return shown;
        const kept = shown.items.filter(({ id }) => !gone.has(id));
        return { ...shown, items: kept.map((item) => now.get(item.id) ?? item) };
      });
    }
    if (fresh.length > 0) {
      const found = await read({ ...listQuery(query), ids: fresh, limit: AT_ONCE, min_position });
      const of = queryKey.join();
      setWaiting((before) => ({ of, ids: new Set([...(before.of === of ? before.ids : []), ...idsOf(found.items)]) }));
    }
    if (changed.current.size + asked.current.size > 0) soon();
  }
  const soon = useThrottled(() => void update().catch(() => readAgain()), EVERY_MS);

  useFrames((frames) => {
    if (frames === "resync") {
      void readAgain();
      return;
    }
    newest.current = Math.max(newest.current ?? 0, ...frames.map(({ position }) => position));
    const shown = new Set(idsOf(items));
    for (const { request_id, type } of frames) {
      if (shown.has(request_id)) changed.current.add(request_id);
      else if (type === "Requested" && cursor === undefined) asked.current.add(request_id);
    }
    if (changed.current.size + asked.current.size > 0) soon();
  });

  const shown = new Set(idsOf(items));
  const isOfThese = waiting.of === queryKey.join() && cursor === undefined;
  const newOnes = isOfThese ? [...waiting.ids].filter((id) => !shown.has(id)).length : 0;
  return { page, items, newOnes, readAgain };
}

function read(query: Parameters<typeof listOf>[0]): Promise<Page> {
  return answer(listOf(query));
}

function listOf(query: ReturnType<typeof listQuery> & { cursor?: string | undefined }) {
  return api.GET("/api/requests", { params: { query } });
}

function idsOf(items: RequestItem[]): string[] {
  return items.map(({ id }) => id);
}

/** Some of the ids, as many as can be asked for at once; the others stay. */
function take(ids: Set<string>): string[] {
  const some = [...ids].slice(0, AT_ONCE);
  for (const id of some) ids.delete(id);
  return some;
}
