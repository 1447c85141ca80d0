// Many requests at once: some by their ids, or all open ones that the filters find.

import { answer, api, type Schemas } from "../api/client";
import { bulkFilter, listQuery, type BulkFilter } from "./filters";

export type Target = { ids: string[] } | { filter: BulkFilter };
export type Result = Schemas["BulkResult"];

export interface Change {
  action: "reassign" | "cancel";
  to?: string;
  list?: string;
  note?: string;
}

export interface Outcome {
  results: Result[];
  position: number;
  /** What could not be done at once. */
  rest: Target | null;
}

const AT_ONCE = 1_000;
const PER_PAGE = 200;

export function allThatMatch(query: URLSearchParams): Target {
  return { filter: bulkFilter(query) };
}

export async function change(target: Target, how: Change): Promise<Outcome> {
  if ("ids" in target) {
    const done = await answer(api.POST("/api/requests/bulk", { body: { ...how, ids: target.ids.slice(0, AT_ONCE) } }));
    const left = target.ids.slice(AT_ONCE);
    return { ...done, rest: left.length > 0 ? { ids: left } : null };
  }
  const done = await answer(api.POST("/api/requests/bulk", { body: { ...how, filter: target.filter } }));
  return { ...done, rest: done.more ? await after(done.results, target.filter) : null };
}

/** The filter may still find what was done (reassigned, it is still open), oldest first: go on from the last one. */
async function after(results: Result[], filter: BulkFilter): Promise<Target | null> {
  const last = results.at(-1);
  if (last === undefined) return null;
  const found = await answer(api.GET("/api/requests", { params: { query: { ids: [last.id] } } }));
  const reached = found.items[0]?.created_at;
  return reached === undefined ? { filter } : { filter: { ...filter, created_from: reached } };
}

/** How many open requests match; null for more than can be done at once. */
export async function countOpen(query: URLSearchParams): Promise<number | null> {
  let count = 0;
  let cursor: string | undefined;
  do {
    const page = await answer(
      api.GET("/api/requests", {
        params: { query: { ...listQuery(query), status: ["Requested"], cursor, limit: PER_PAGE } },
      }),
    );
    count += page.items.length;
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && count < AT_ONCE);
  return cursor === undefined ? count : null;
}

export function howMany(count: number | null): string {
  return count === null ? `${AT_ONCE.toLocaleString()}+` : String(count);
}
