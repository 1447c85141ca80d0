// One connection to the live stream that comes back by itself, and goes on where it was.

import { EVENT_TYPES, type Frame, type Said } from "./frames";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
const LOST_AFTER = 2_000;

/** No position: the server answers with "resync" and the position that it is at, so nothing falls in between. */
const UNKNOWN = "unknown";

export interface Stream {
  /** Try again at once, where it waits to: the browser says that the network is back. */
  retry: () => void;
  close: () => void;
}

/** Connect, and tell of frames and of the connection itself until closed. */
export function connect(tell: (said: Said) => void, embedded: boolean): Stream {
  let source: EventSource | null = null;
  let position: string | null = null;
  let wait = FIRST_WAIT;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lost: ReturnType<typeof setTimeout> | undefined;
  let closed = false;

  function url(): string {
    const query = new URLSearchParams();
    query.set("after", position ?? UNKNOWN);
    if (embedded) query.set("embed", "1");
    return `/api/stream?${query}`;
  }

  function open(): void {
    clearTimeout(timer);
    source?.close();
    const opened = new EventSource(url());
    source = opened;
    opened.onopen = () => {
      clearTimeout(lost);
      lost = undefined;
      wait = FIRST_WAIT;
      // Without a position to go on from, it is only once the server has said where it is.
      if (position !== null) tell({ kind: "connection", connection: "connected" });
    };
    opened.onerror = () => {
      lost ??= setTimeout(() => tell({ kind: "connection", connection: "lost" }), LOST_AFTER);
      // We come back ourselves: the browser gives up for good on an answer that is not a stream (401, 503).
      opened.close();
      if (closed || source !== opened) return;
      timer = setTimeout(() => void look(), wait * (0.5 + Math.random() / 2));
      wait = Math.min(wait * 2, LONGEST_WAIT);
    };
    opened.addEventListener("resync", (event) => {
      position = (event as MessageEvent<string>).lastEventId;
      tell({ kind: "resync", position: Number(position) });
      tell({ kind: "connection", connection: "connected" });
    });
    for (const type of EVENT_TYPES) {
      opened.addEventListener(type, (event) => {
        const message = event as MessageEvent<string>;
        position = message.lastEventId;
        tell({ kind: "frame", frame: JSON.parse(message.data) as Frame });
      });
    }
  }

  /** An EventSource does not say why it failed: ask whether anybody is signed in still. */
  async function look(): Promise<void> {
    try {
      const response = await fetch("/api/session", embedded ? { headers: { "X-Handraise-Embed": "1" } } : {});
      if (closed) return;
      if (response.status === 401) {
        tell({ kind: "signed-out" });
        return;
      }
    } catch {
      // not reachable: the next attempt finds out
    }
    if (!closed) open();
  }

  tell({ kind: "connection", connection: "connecting" });
  open();
  return {
    retry: () => {
      if (!closed && source?.readyState !== EventSource.OPEN) {
        wait = FIRST_WAIT;
        open();
      }
    },
    close: () => {
      closed = true;
      clearTimeout(timer);
      clearTimeout(lost);
      source?.close();
    },
  };
}
