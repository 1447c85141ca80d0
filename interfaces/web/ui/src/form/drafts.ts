// What somebody has begun to write, kept in this browser until it is sent. Secrets are never kept.

import { useCallback, useState } from "react";

import type { RequestView } from "../api/client";
import { everySchema } from "./schema/json";

const PREFIX = "handraise.draft.";
const MOST = 50;
const MOST_CHARACTERS = 200_000;
const DAYS = 30 * 86_400_000;

interface Kept {
  at: number;
  value: unknown;
}

/** Whether nothing of the answer may be kept: asked as a secret, or with a field of the schema that is one. */
export function isSealed(request: RequestView): boolean {
  return request.secret || marksSecrets(request.response_schema);
}

/** Whether the schema itself says which fields are secret. */
export function marksSecrets(schema: unknown): boolean {
  for (const each of everySchema(schema)) {
    if (each["writeOnly"] === true || each["format"] === "password") return true;
  }
  return false;
}

/** What stands in the fields of a form, or the JSON written instead. */
export interface FormDraft {
  data?: unknown;
  json?: string;
}

export type Written = string | FormDraft;

export interface Draft {
  /** What was written before this page was loaded. */
  restored: Written | undefined;
  /** Whether there is something that was not sent. */
  exists: boolean;
  /** `undefined`: nothing is written any more. */
  keep: (value: Written | undefined) => void;
  /** It was sent, or is not wanted. */
  drop: () => void;
}

export function useDraft(person: string, request: RequestView): Draft {
  const key = `${PREFIX}${person}.${request.id}`;
  const sealed = isSealed(request);
  const [restored] = useState(() => (sealed ? undefined : (read(key)?.value as Written | undefined)));
  const [exists, setExists] = useState(restored !== undefined);

  const keep = useCallback(
    (value: Written | undefined) => {
      setExists(value !== undefined);
      if (sealed) return;
      if (value === undefined) remove(key);
      else write(key, value);
    },
    [key, sealed],
  );
  const drop = useCallback(() => {
    setExists(false);
    remove(key);
  }, [key]);
  return { restored, exists, keep, drop };
}

export function textOf({ restored }: Draft): string {
  return typeof restored === "string" ? restored : "";
}

export function formOf({ restored }: Draft): FormDraft {
  return typeof restored === "object" ? restored : {};
}

function read(key: string): Kept | undefined {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "null") as Partial<Kept> | null;
    if (found === null || typeof found.at !== "number" || Date.now() - found.at > DAYS) return undefined;
    return found as Kept;
  } catch {
    return undefined;
  }
}

function write(key: string, value: unknown): void {
  try {
    const text = JSON.stringify({ at: Date.now(), value } satisfies Kept);
    if (text.length > MOST_CHARACTERS) return;
    if (localStorage.getItem(key) === null) makeRoom();
    localStorage.setItem(key, text);
  } catch {
    // A full or forbidden store: what is written stays on the page.
  }
}

function remove(key: string): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // There is no store.
  }
}

/** Forgets what is too old, and the oldest where there are too many. */
function makeRoom(): void {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  const dated = keys.map((key) => ({ key, at: read(key)?.at ?? 0 })).sort((a, b) => b.at - a.at);
  for (const { key } of dated.filter(({ at }, index) => at === 0 || index >= MOST - 1)) localStorage.removeItem(key);
}
