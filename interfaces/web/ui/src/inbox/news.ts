// Keeps one inbox true: the stream names requests, the server is asked for exactly these, the answer is put in.

import type { QueryClient, QueryKey } from "@tanstack/react-query";

import { answer, api, type RequestItem } from "../api/client";
import type { Frame } from "../live/frames";
import { newestPosition } from "../live/live";
import type { Scope } from "../shell/Pages";
import { withNews, type Parts } from "./rows";

const ASKED_AT_ONCE = 100;
const REST_MS = 100;

const OF_NO_MATTER = new Set<Frame["type"]>(["Collected", "Acknowledged", "AnswerRefused"]);

export class News {
  /** Requests that something happened to, and whether each is still open. */
  private readonly waiting = new Map<string, boolean>();
  private busy = false;

  constructor(
    private readonly queries: QueryClient,
    private readonly key: QueryKey,
    private readonly scope: Scope,
  ) {}

  hear(frames: Frame[]): void {
    for (const { type, request_id, status } of frames)
      if (!OF_NO_MATTER.has(type)) this.waiting.set(request_id, status === "Requested");
    void this.putIn();
  }

  /** Everything is read afresh. */
  forget(): void {
    this.waiting.clear();
  }

  private async putIn(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    while (this.waiting.size > 0) {
      // Parts that are being read meanwhile would bring back what we have just put right.
      if (!this.isReading()) await this.putInSome();
      await new Promise((resolve) => setTimeout(resolve, REST_MS));
    }
    this.busy = false;
  }

  private async putInSome(): Promise<void> {
    const closed = [...this.waiting].filter(([, isOpen]) => !isOpen);
    const open = [...this.waiting].filter(([, isOpen]) => isOpen).slice(0, ASKED_AT_ONCE);
    const all = new Map([...closed, ...open]);
    for (const id of all.keys()) this.waiting.delete(id);
    try {
      const found = open.length === 0 ? [] : await this.ask(open.map(([id]) => id));
      if (this.isReading()) for (const [id, isOpen] of all) this.waiting.set(id, this.waiting.get(id) ?? isOpen);
      else this.queries.setQueryData<Parts>(this.key, (parts) => parts && withNews(parts, new Set(all.keys()), found));
    } catch {
      // Reading everything afresh tries again by itself, and says so where it cannot.
      void this.queries.invalidateQueries({ queryKey: this.key });
    }
  }

  private async ask(ids: string[]): Promise<RequestItem[]> {
    const query = { scope: this.scope, ids, limit: ASKED_AT_ONCE, min_position: newestPosition() };
    return (await answer(api.GET("/api/inbox", { params: { query } }))).items;
  }

  private isReading(): boolean {
    return this.queries.isFetching({ queryKey: this.key, exact: true }) > 0;
  }
}
