import { Refused } from "../api/client";

/** What the server does not understand, by the field that it stands in; null where it is something else. */
export function problemsIn(error: unknown): Record<string, string> | null {
  if (!(error instanceof Refused) || error.status !== 422 || error.errors.length === 0) return null;
  return Object.fromEntries(error.errors.map(({ path, message }) => [path.split("/")[0] ?? "", message]));
}
