// Between what a clock on the wall shows and instants, in the viewer's own zone.

import { two, wallClock } from "../../lib/local-input";

export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const LOCAL = /^(\d{4,6})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?$/;
const INSTANT = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)$/;
const HOUR = 3_600_000;

/** What the viewer's clock shows at an instant; text that is none is what was typed. */
export function localOf(text: string): string {
  if (!INSTANT.test(text)) return LOCAL.test(text) ? text : "";
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? "" : wallClock(at, at.getSeconds() !== 0);
}

/** The instants at which the viewer's clock shows this: one, none or two where clocks are changed. */
export function instantsOf(local: string): number[] {
  const parts = LOCAL.exec(local)
    ?.slice(1)
    .map((part) => Number(part ?? 0));
  if (parts === undefined) return [];
  const [year, month, day, hour, minute, second] = parts as [number, number, number, number, number, number];
  const guess = new Date(year, month - 1, day, hour, minute, second).getTime();
  const near = [-2, -1, -0.5, 0, 0.5, 1, 2].map((hours) => guess + hours * HOUR);
  return near.filter((at) => sameClock(new Date(at), local));
}

function sameClock(at: Date, local: string): boolean {
  return wallClock(at, true) === (local.length === 16 ? `${local}:00` : local.replace(/\.\d+$/, ""));
}

/** RFC 3339: what the clock shows, and its offset then. */
export function withOffset(local: string, at: number): string {
  return `${local.length === 16 ? `${local}:00` : local}${offsetText(at)}`;
}

function offsetText(at: number): string {
  const minutes = -new Date(at).getTimezoneOffset();
  if (minutes === 0) return "Z";
  const size = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** "UTC−04:00" */
export function offsetOf(at: number): string {
  const text = offsetText(at);
  return text === "Z" ? "UTC" : `UTC${text.replace("-", "\u2212")}`;
}

/** RFC 3339's time has an offset too: today's. */
export function timeWithOffset(typed: string): string {
  return `${typed.length === 5 ? `${typed}:00` : typed}${offsetText(Date.now())}`;
}
