// The live stream, as the parts of a tab see it.

import { useEffect, useSyncExternalStore } from "react";

import { signInAgain } from "../api/client";
import { isEmbedded } from "../embed/embedded";
import { useNewest } from "../lib/newest";
import { connect } from "./connect";
import type { Asked, Connection, Frame, Said } from "./frames";

type Listener = (frames: Frame[] | "resync") => void;

const listeners = new Set<Listener>();
const watchers = new Set<() => void>();
let connection: Connection = "connecting";
let newest = 0;
let gathered: Frame[] = [];
let gathering: ReturnType<typeof setTimeout> | undefined;

/** Long enough for a burst to be one refresh, too short to be seen. */
const GATHER_MS = 40;

function hear(said: Said): void {
  switch (said.kind) {
    case "frame":
      newest = Math.max(newest, said.frame.position);
      gathered.push(said.frame);
      gathering ??= setTimeout(flush, GATHER_MS);
      break;
    case "resync":
      newest = said.position;
      gathered = [];
      for (const listener of listeners) listener("resync");
      break;
    case "connection":
      connection = said.connection;
      for (const watcher of watchers) watcher();
      break;
    case "signed-out":
      signInAgain();
  }
}

function flush(): void {
  gathering = undefined;
  const frames = gathered;
  gathered = [];
  if (frames.length > 0) for (const listener of listeners) listener(frames);
}

/**
 * Follow the stream: shared by all tabs of this person where the browser can, else a connection of this tab's own.
 * Returns how to stop.
 */
export function follow(user: string): () => void {
  if (isEmbedded || typeof SharedWorker === "undefined") {
    const stream = connect(hear, isEmbedded);
    addEventListener("online", stream.retry);
    return () => {
      removeEventListener("online", stream.retry);
      stream.close();
    };
  }
  // Named after the person: who signs in as somebody else does not share a stream with before.
  const worker = new SharedWorker(new URL("./stream-worker.ts", import.meta.url), {
    type: "module",
    name: `handraise ${user}`,
  });
  const say = (asked: Asked) => worker.port.postMessage(asked);
  const retry = () => say("retry");
  const leave = () => say("bye");
  const comeBack = ({ persisted }: PageTransitionEvent) => {
    if (!persisted) return; // shown again by the back button, as it was when it was left
    say("hello");
    hear({ kind: "resync", position: newest });
  };
  worker.port.onmessage = ({ data }: MessageEvent<Said>) => hear(data);
  addEventListener("online", retry);
  addEventListener("pagehide", leave);
  addEventListener("pageshow", comeBack);
  return () => {
    removeEventListener("online", retry);
    removeEventListener("pagehide", leave);
    removeEventListener("pageshow", comeBack);
    leave();
    worker.port.close();
  };
}

/**
 * Call `listener` with each burst of frames, or with "resync" when everything is to be read afresh.
 * It may close over anything: the newest one is called.
 */
export function useFrames(listener: Listener): void {
  const newest = useNewest(listener);
  useEffect(() => {
    const stable: Listener = (frames) => newest.current(frames);
    listeners.add(stable);
    return () => void listeners.delete(stable);
  }, []);
}

/** The newest position that we were told of: what is read because of a frame must show it (`min_position`). */
export function newestPosition(): number | undefined {
  return newest === 0 ? undefined : newest;
}

/** Whether one sees what happens as it happens. */
export function useConnection(): Connection {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    () => connection,
  );
}
