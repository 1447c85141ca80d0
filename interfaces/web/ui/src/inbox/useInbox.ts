// An inbox: read in parts as one scrolls, and kept true while it is shown.

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";

import { answer, api, type RequestItem } from "../api/client";
import { newestPosition, useFrames } from "../live/live";
import { readAfresh } from "../lib/afresh";
import type { Scope } from "../shell/Pages";
import { News } from "./news";
import type { Part, Parts } from "./rows";

const PART = 200;

export interface Inbox {
  rows: RequestItem[];
  loading: boolean;
  error: unknown;
  retry: () => void;
  /** Read on, where there is more. */
  more: () => void;
}

export function useInbox(scope: Scope): Inbox {
  const queries = useQueryClient();
  const key = useMemo(() => ["inbox", scope], [scope]);
  const news = useMemo(() => new News(queries, key, scope), [queries, key, scope]);

  const query = useInfiniteQuery({
    queryKey: key,
    initialPageParam: null as string | null,
    refetchOnMount: "always",
    queryFn: async ({ pageParam, signal }): Promise<Part> => {
      const query = { scope, limit: PART, cursor: pageParam ?? undefined, min_position: newestPosition() };
      const page = await answer(api.GET("/api/inbox", { params: { query }, signal }));
      return { ...page, end: page.next_cursor === null ? null : (page.items.at(-1) ?? null) };
    },
    getNextPageParam: (part) => part.next_cursor,
  });
  const { data, isFetching, hasNextPage, fetchNextPage, refetch } = query;

  useFrames((frames) => {
    if (frames !== "resync") return news.hear(frames);
    news.forget();
    void readAfresh(queries, { queryKey: key });
  });
  // Nobody keeps it true while it is not shown: its beginning is enough to show until it is read again.
  useEffect(() => () => void queries.setQueryData<Parts>(key, (parts) => parts && beginning(parts)), [queries, key]);

  return {
    rows: useMemo(() => data?.pages.flatMap(({ items }) => items) ?? [], [data]),
    loading: query.isPending,
    error: data === undefined ? query.error : null,
    retry: () => void refetch(),
    more: () => {
      if (hasNextPage && !isFetching) void fetchNextPage();
    },
  };
}

function beginning({ pages, pageParams }: Parts): Parts {
  return { pages: pages.slice(0, 1), pageParams: pageParams.slice(0, 1) };
}
