// What the table of requests is narrowed to: the same words in the address, for the list and for bulk changes.

import type { Schemas } from "../api/client";
import type { paths } from "../api/schema";

export type ListQuery = NonNullable<paths["/api/requests"]["get"]["parameters"]["query"]>;
export type BulkFilter = Schemas["BulkFilter"];

const MANY = ["status", "request_type"] as const;
const ONE = [
  "agent",
  "assigned_to",
  "list",
  "run_id",
  "priority_min",
  "priority_max",
  "created_from",
  "created_to",
  "closed_from",
  "closed_to",
  "acknowledged",
  "q",
] as const;
/** Those behind the "Filters" button. */
export const MORE = ["request_type", ...ONE.filter((name) => name !== "q")] as const;
export const ALL = [...MANY, ...ONE] as const;

export const DEFAULT_SORT = "-created_at";
export const SIZES = ["25", "50", "100", "200"];
const DEFAULT_SIZE = "50";

export function sortOf(query: URLSearchParams): string {
  return query.get("sort") ?? DEFAULT_SORT;
}

export function sizeOf(query: URLSearchParams): string {
  const size = query.get("size") ?? "";
  return SIZES.includes(size) ? size : DEFAULT_SIZE;
}

export function isNarrowed(query: URLSearchParams): boolean {
  return ALL.some((name) => query.has(name));
}

export function howManyMore(query: URLSearchParams): number {
  return MORE.filter((name) => query.has(name)).length;
}

function narrowing(query: URLSearchParams): Record<string, string | string[]> {
  const given: Record<string, string | string[]> = {};
  for (const name of MANY) if (query.has(name)) given[name] = query.getAll(name);
  for (const name of ONE) {
    const value = query.get(name);
    if (value !== null) given[name] = value;
  }
  return given;
}

/** As the list wants it. What the address holds is passed on as it is: the server says what is wrong with it. */
export function listQuery(query: URLSearchParams): ListQuery {
  return { ...narrowing(query), sort: sortOf(query) as NonNullable<ListQuery["sort"]> } as ListQuery;
}

const OF_CLOSED = ["closed_from", "closed_to", "acknowledged"];

/** Whether open requests can be among those that match: bulk changes touch no others. */
export function mayMatchOpen(query: URLSearchParams): boolean {
  if (OF_CLOSED.some((name) => query.has(name))) return false;
  return !query.has("status") || query.getAll("status").includes("Requested");
}

/** As bulk changes want it: open ones are meant without saying so. */
export function bulkFilter(query: URLSearchParams): BulkFilter {
  const filter: Record<string, unknown> = narrowing(query);
  delete filter.status;
  for (const name of ["priority_min", "priority_max"]) if (name in filter) filter[name] = Number(filter[name]);
  return filter as BulkFilter;
}
