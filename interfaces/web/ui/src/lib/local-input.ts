// What a date and time field of the browser holds, in the viewer's own zone, and the instant that it means.

export function two(number: number): string {
  return String(number).padStart(2, "0");
}

/** What the viewer's clock shows at an instant, as such a field holds it. */
export function wallClock(at: Date, seconds = false): string {
  const day = `${String(at.getFullYear()).padStart(4, "0")}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}${seconds ? `:${two(at.getSeconds())}` : ""}`;
}

/** "2026-07-01T09:00", or "" for what is no instant. */
export function toLocalInput(iso: string | null): string {
  const at = new Date(iso ?? "");
  return Number.isNaN(at.getTime()) ? "" : wallClock(at);
}

/** RFC 3339 in UTC, or null for an empty field. */
export function fromLocalInput(text: string): string | null {
  const at = new Date(text);
  return text === "" || Number.isNaN(at.getTime()) ? null : at.toISOString().replace(".000Z", "Z");
}
