// The entries of a collection, and changes to it: whoever changes something sees it at once.

import { useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";

import { answer, api } from "../api/client";
import { everyItem } from "../api/pages";
import { useRememberMe } from "../api/session";
import type { Entry, Kind } from "./kinds";

/** Up to where this tab has written: what is read afterwards shows at least that. */
let written: number | undefined;

export function useEntries<T extends Entry>(kind: Kind<T>): UseQueryResult<T[]> {
  return useQuery({
    queryKey: ["directory", kind.name],
    staleTime: 0,
    queryFn: async () => {
      const items = await everyItem((cursor) => kind.page({ query: { limit: 200, cursor, min_position: written } }));
      return items as T[];
    },
  });
}

/** Call after each change, with the position that it was answered with: all that is shown is read again. */
export function useWritten(): (position: number) => Promise<void> {
  const queries = useQueryClient();
  const rememberMe = useRememberMe();
  return async (position) => {
    written = Math.max(written ?? 0, position);
    const [me] = await Promise.all([
      answer(api.GET("/api/me", { params: { query: { min_position: written } } })),
      queries.invalidateQueries({ queryKey: ["directory"] }),
      queries.invalidateQueries({ queryKey: ["names"] }),
    ]);
    rememberMe(me);
  };
}
