// Times as people read them: in their own zone, durations in the two largest units.

import { useSyncExternalStore } from "react";

import { strings } from "../strings";

const UNITS: [string, number][] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
];

/** "2 d 3 h", "4 min 10 s", "8 s": the largest unit and the one below it, where that is not nothing. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const first = UNITS.findIndex(([, size]) => whole >= size);
  if (first === -1) return "0 s";
  const [unit, size] = UNITS[first]!;
  const text = `${Math.floor(whole / size)} ${unit}`;
  const next = UNITS[first + 1];
  // Seconds beside minutes only while they matter.
  if (next === undefined || (unit === "min" && whole >= 600)) return text;
  const rest = Math.floor((whole % size) / next[1]);
  return rest === 0 ? text : `${text} ${rest} ${next[0]}`;
}

/** "84 ms", "1.4 s", "15 s": how long a call took. */
export function milliseconds(count: number): string {
  if (count < 1000) return `${count} ms`;
  const seconds = count / 1000;
  return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
}

/** One unit is enough for how old something is. */
export function roughly(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const found = UNITS.find(([, size]) => whole >= size);
  return found === undefined ? "0 s" : `${Math.floor(whole / found[1])} ${found[0]}`;
}

export function ago(iso: string, now: number): string {
  const seconds = (now - Date.parse(iso)) / 1000;
  return seconds < 5 ? strings.time.now : strings.time.ago(roughly(seconds));
}

export function left(iso: string, now: number): string {
  const seconds = (Date.parse(iso) - now) / 1000;
  return seconds <= 0 ? strings.time.overdue : strings.time.left(duration(seconds));
}

const SHORT = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const YEAR = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

/** "14:05" today, "3 Mar, 14:05" this year, else with the year. */
export function clock(iso: string, now: number): string {
  const at = new Date(iso);
  const today = new Date(now);
  if (at.toDateString() === today.toDateString()) return SHORT.format(at);
  return (at.getFullYear() === today.getFullYear() ? DAY : YEAR).format(at);
}

/** The instant to the second with its zone, and as the server wrote it. */
export function exact(iso: string): string {
  return `${EXACT.format(new Date(iso))}\n${iso}`;
}

// One timer for everything that shows time: all of it moves together, and none of it while nobody looks.

const watchers = new Set<() => void>();
let second = Date.now();
let ticking: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  if (document.hidden) return;
  second = Date.now();
  for (const watcher of watchers) watcher();
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  ticking ??= setInterval(tick, 1000);
  return () => {
    watchers.delete(watcher);
    if (watchers.size === 0) {
      clearInterval(ticking);
      ticking = undefined;
    }
  };
}

document.addEventListener("visibilitychange", tick);

/** The time, moving on once a second while the page is seen. */
export function useNow(): number {
  return useSyncExternalStore(watch, () => second);
}
