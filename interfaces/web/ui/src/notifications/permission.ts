// Whether people are told in this browser: what the browser allows, and what they chose here.

import { useSyncExternalStore } from "react";

export type Permission = NotificationPermission | "unsupported";

export interface Choice {
  /** Told at all, where the browser allows it. */
  on: boolean;
  /** Without a word of what is asked. */
  generic: boolean;
  /** Said "not now" when it was offered. */
  declined: boolean;
}

const KEY = "handraise notifications";
const UNDECIDED: Choice = { on: true, generic: false, declined: false };
const watchers = new Set<() => void>();

export function permission(): Permission {
  return typeof Notification === "undefined" || !isSecureContext ? "unsupported" : Notification.permission;
}

function stored(): string {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // the browser keeps nothing for us
  }
}

function parsed(text: string): Choice {
  try {
    return { ...UNDECIDED, ...(JSON.parse(text || "{}") as Partial<Choice>) };
  } catch {
    return UNDECIDED;
  }
}

export function choice(): Choice {
  return parsed(stored());
}

export function choose(change: Partial<Choice>): void {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...choice(), ...change }));
  } catch {
    // then it is asked again the next time
  }
  changed();
}

/** Ask the browser, which asks the person: only ever after a click. */
export async function askPermission(): Promise<Permission> {
  const given = await Notification.requestPermission();
  changed();
  return given;
}

function changed(): void {
  for (const watcher of watchers) watcher();
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  addEventListener("storage", watcher); // chosen in another tab
  addEventListener("focus", watcher); // back from the browser's own settings
  return () => {
    watchers.delete(watcher);
    removeEventListener("storage", watcher);
    removeEventListener("focus", watcher);
  };
}

export function usePermission(): Permission {
  return useSyncExternalStore(watch, permission);
}

export function useChoice(): Choice {
  return parsed(useSyncExternalStore(watch, stored));
}
