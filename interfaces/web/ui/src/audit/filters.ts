// What the audit log is narrowed to: the same words in the address, for the list and for an export.

import type { paths } from "../api/schema";

export type AuditQuery = NonNullable<paths["/api/audit"]["get"]["parameters"]["query"]>;

export const FILTERS = ["actor", "type", "request_id", "agent", "from", "to", "q"] as const;
/** Those behind the "Filters" button. */
export const MORE = ["actor", "agent", "request_id", "from", "to"] as const;

/** As the server wants it. What the address holds is passed on as it is: the server says what is wrong with it. */
export function auditQuery(query: URLSearchParams): AuditQuery {
  const given: Record<string, string | string[]> = {};
  for (const name of FILTERS) {
    if (!query.has(name)) continue;
    given[name] = name === "type" ? query.getAll(name) : (query.get(name) ?? "");
  }
  return given as AuditQuery;
}

export function exportOf(query: URLSearchParams, format: "jsonl" | "csv"): string {
  const given = new URLSearchParams({ format });
  for (const name of FILTERS) for (const value of query.getAll(name)) given.append(name, value);
  return `/api/audit/export?${given.toString()}`;
}

export function isNarrowed(query: URLSearchParams): boolean {
  return FILTERS.some((name) => query.has(name));
}

export const TYPES = [
  "Requested",
  "Responded",
  "Cancelled",
  "Expired",
  "Reassigned",
  "Notified",
  "AnswerRefused",
  "Snoozed",
  "Collected",
  "Acknowledged",
  "ContentErased",
  "Added",
  "Changed",
  "Removed",
  "PasswordSet",
  "Created",
  "Rotated",
  "Revoked",
  "Opened",
  "Closed",
  "Made",
  "Used",
];
