// Which requests were opened in this browser, by this person: the others are marked as unread.

import { useCallback, useMemo, useSyncExternalStore } from "react";

const MOST = 2_000;
const watchers = new Set<() => void>();

function keyOf(user: string): string {
  return `handraise opened ${user}`;
}

function read(user: string): string {
  try {
    return localStorage.getItem(keyOf(user)) ?? "";
  } catch {
    return ""; // the browser keeps nothing for us: everything is unread
  }
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  addEventListener("storage", watcher); // another tab
  return () => {
    watchers.delete(watcher);
    removeEventListener("storage", watcher);
  };
}

export function useOpened(user: string): ReadonlySet<string> {
  const text = useSyncExternalStore(
    watch,
    useCallback(() => read(user), [user]),
  );
  return useMemo(() => new Set(text.split(" ")), [text]);
}

export function rememberOpened(user: string, id: string): void {
  const others = read(user)
    .split(" ")
    .filter((other) => other !== id && other !== "");
  try {
    localStorage.setItem(keyOf(user), [...others, id].slice(-MOST).join(" "));
  } catch {
    return;
  }
  for (const watcher of watchers) watcher();
}
