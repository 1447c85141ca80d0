// Reading again what is shown, because something happened to it.

import type { QueryClient, QueryFilters } from "@tanstack/react-query";

/**
 * Invalidates these queries. What is being read for the first time is waited for before: it cannot be begun anew, may
 * be older than what happened, and would count as fresh once it is there.
 */
export async function readAfresh(queries: QueryClient, filters: QueryFilters): Promise<void> {
  const first = queries
    .getQueryCache()
    .findAll({ ...filters, fetchStatus: "fetching" })
    .filter(({ state }) => state.data === undefined);
  await Promise.allSettled(first.map(({ promise }) => promise));
  await queries.invalidateQueries(filters);
}
