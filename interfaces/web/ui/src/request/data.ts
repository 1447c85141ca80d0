// One request as the server knows it, read again whenever something happened to it.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { answer, api, type HistoryItem, type RequestView } from "../api/client";
import { useFrames } from "../live/live";
import { readAfresh } from "../lib/afresh";

/** By the id that a page was opened with: what is shown must be at least so new. */
const atLeast = new Map<string, number>();

export function mustShow(id: string, position: number): void {
  atLeast.set(id, Math.max(position, atLeast.get(id) ?? 0));
}

export function positionFor(id: string): number | undefined {
  return atLeast.get(id);
}

const keyOf = (id: string) => ["request", id] as const;

export function useRequest(id: string) {
  return useQuery({
    queryKey: [...keyOf(id), "itself"],
    staleTime: 0,
    queryFn: () =>
      answer(
        api.GET("/api/requests/{id}", { params: { path: { id }, query: { min_position: positionFor(id) } } }),
      ),
  });
}

export function useHistory(id: string) {
  return useQuery({
    queryKey: [...keyOf(id), "history"],
    staleTime: 0,
    queryFn: async () => {
      const path = { id };
      const query = { min_position: positionFor(id) };
      return (await answer(api.GET("/api/requests/{id}/history", { params: { path, query } }))).items as HistoryItem[];
    },
  });
}

/** All that is shown of this request is read again. */
export function useRefresh(id: string): (position?: number) => void {
  const queries = useQueryClient();
  return useCallback(
    (position) => {
      if (position !== undefined) mustShow(id, position);
      void readAfresh(queries, { queryKey: keyOf(id) });
    },
    [queries, id],
  );
}

/** What a command answered is shown at once. */
export function useShow(id: string): (request: RequestView) => void {
  const queries = useQueryClient();
  const refresh = useRefresh(id);
  return useCallback(
    (request) => {
      queries.setQueryData([...keyOf(id), "itself"], request);
      refresh(request.position);
    },
    [queries, refresh, id],
  );
}

/** Follow what others do to it. */
export function useFollow(id: string, request: RequestView | undefined): void {
  const refresh = useRefresh(id);
  useFrames((frames) => {
    if (frames === "resync") {
      refresh();
      return;
    }
    const ours = frames.filter((frame) =>
      request === undefined ? frame.request_id === id || frame.unique_id === id : frame.request_id === request.id,
    );
    const newest = ours.at(-1);
    if (newest !== undefined) refresh(newest.position);
  });
}
