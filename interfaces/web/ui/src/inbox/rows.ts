// The rows of an inbox, in the server's order, and how news of some of them is put in.

import type { InfiniteData } from "@tanstack/react-query";

import type { RequestItem } from "../api/client";

type Place = Pick<RequestItem, "priority" | "created_at" | "id">;

/** A part of the inbox, as it was at a position. */
export interface Part {
  items: RequestItem[];
  next_cursor: string | null;
  position: number;
  /** The last place that belongs to this part; null where it goes to the end of the inbox. */
  end: Place | null;
}

export type Parts = InfiniteData<Part, string | null>;

/** Most urgent first, then oldest. */
export function inOrder(a: Place, b: Place): number {
  if (a.priority !== b.priority) return a.priority - b.priority;
  if (a.created_at !== b.created_at) return a.created_at < b.created_at ? -1 : 1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

/**
 * `found` is what the inbox holds now of the requests named in `asked`: what was not found is not there any more.
 * What belongs behind the parts that were read so far is left for when its part is read.
 */
export function withNews(parts: Parts, asked: ReadonlySet<string>, found: readonly RequestItem[]): Parts {
  const pages = parts.pages.map((part) => {
    const kept = part.items.filter(({ id }) => !asked.has(id));
    return kept.length === part.items.length ? part : { ...part, items: kept };
  });
  for (const item of found) {
    const index = pages.findIndex(({ end }) => end === null || inOrder(item, end) <= 0);
    const part = pages[index];
    if (part === undefined) continue;
    const before = part.items.findIndex((other) => inOrder(item, other) < 0);
    const items = before === -1 ? [...part.items, item] : part.items.toSpliced(before, 0, item);
    pages[index] = { ...part, items };
  }
  return { ...parts, pages };
}
