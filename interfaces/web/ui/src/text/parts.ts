// A long text in parts that are read one after the other, cut where no block is cut in two.

const FENCE = /^\s*(?:>\s*)*(`{3,}|~{3,})(.*)$/;
const LONGEST = 96_000;
const LARGER = 2;

export interface Part {
  text: string;
  bytes: number;
  lines: number;
}

/**
 * A first part of about `size` characters and `lines` lines, as far as a blank line allows it, and larger ones.
 * One part, if what would be left is not worth another.
 */
export function parts(text: string, size: number, lines: number): Part[] {
  if (text.length <= 2 * size && count(text, 2 * lines) <= 2 * lines) return [part(text)];
  const found: Part[] = [];
  let taken: string[] = [];
  let length = 0;
  let fence: { mark: string; opener: string } | null = null;

  function cut(): void {
    found.push(part(taken.join("\n")));
    taken = [];
    length = 0;
  }

  for (const whole of text.split("\n")) {
    for (const line of sliced(whole)) {
      const factor = found.length === 0 ? 1 : LARGER;
      const full = length >= factor * size || taken.length >= factor * lines;
      if (fence === null && full && (line.trim() === "" || length >= 2 * factor * size)) cut();
      else if (length + line.length > LONGEST) {
        // A code block longer than that goes on as one of its own.
        if (fence !== null) taken.push(fence.mark);
        cut();
        if (fence !== null) taken.push(fence.opener);
      }
      taken.push(line);
      length += line.length + 1;
      const [, mark, info] = FENCE.exec(line) ?? [];
      if (mark === undefined) continue;
      if (fence === null) {
        if (mark.startsWith("~") || !info!.includes("`")) fence = { mark, opener: line };
      } else if (mark.startsWith(fence.mark) && info!.trim() === "") fence = null;
    }
  }
  cut();
  return text.length - found[0]!.text.length <= size ? [part(text)] : found;
}

function sliced(line: string): string[] {
  if (line.length <= LONGEST) return [line];
  const slices: string[] = [];
  let at = 0;
  while (at < line.length) {
    const cutsPair = /[\uD800-\uDBFF]/.test(line.charAt(at + LONGEST - 1));
    const end = at + LONGEST - (cutsPair ? 1 : 0);
    slices.push(line.slice(at, end));
    at = end;
  }
  return slices;
}

function count(text: string, most: number): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1 && lines <= most; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}

function part(text: string): Part {
  return { text, bytes: new TextEncoder().encode(text).length, lines: text.split("\n").length };
}

/** More containers at the start of one line than anybody writes: reading it as Markdown takes too long. */
export function isHopeless(text: string): boolean {
  return /^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*){60}/m.test(text) || /\[{500}/.test(text);
}
