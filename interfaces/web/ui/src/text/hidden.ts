// Characters that one does not see but that change what one sees: they are shown as what they are.

/** Controls, marks of direction, and what has no width; of joiners and tags it depends on where they stand. */
const HIDDEN =
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB\u{E0000}-\u{E007F}\u{E0100}-\u{E01EF}]+/gu;

const JOINERS = /^[\u200C\u200D]$/;
const EMOJI = /^[\p{Extended_Pictographic}\p{Emoji_Modifier}\u{FE0F}\u{20E3}]/u;
const EMOJI_NEXT = /^\p{Extended_Pictographic}/u;
/** Scripts that are written with joiners. */
const JOINED =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]/u;
/** Flags of regions: a black flag, then letters of no width up to the last of them. */
const FLAG = "\u{1F3F4}";
const FLAG_LETTERS = /^[\u{E0030}-\u{E007A}]{2,6}\u{E007F}$/u;

const LISTED = 6;

export interface Hidden {
  /** "U+202E", or several. */
  label: string;
}

/** The text in pieces: what can be read as it is, and hidden characters, one piece for each run of them. */
export function pieces(text: string): (string | Hidden)[] {
  const found: (string | Hidden)[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    const before = text.slice(Math.max(0, match.index - 2), match.index);
    const end = match.index + match[0].length;
    const after = text.slice(end, end + 2);
    if (belongs(match[0], before, after)) continue;
    if (match.index > from) found.push(text.slice(from, match.index));
    found.push({ label: labelOf(match[0]) });
    from = end;
  }
  if (from === 0) return [text];
  if (from < text.length) found.push(text.slice(from));
  return found;
}

function belongs(run: string, before: string, after: string): boolean {
  if (JOINERS.test(run)) {
    const joinsEmoji = run === "\u200D" && EMOJI.test(lastOf(before)) && EMOJI_NEXT.test(after);
    return joinsEmoji || JOINED.test(before.slice(-1)) || JOINED.test(after.slice(0, 1));
  }
  return before.endsWith(FLAG) && FLAG_LETTERS.test(run);
}

/** The last whole character. */
function lastOf(text: string): string {
  return Array.from(text).at(-1) ?? "";
}

function labelOf(run: string): string {
  const points = Array.from(run, (each) => `U+${each.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`);
  const labels: string[] = [];
  for (let at = 0; at < points.length && labels.length < LISTED; ) {
    let end = at + 1;
    while (points[end] === points[at]) end++;
    labels.push(end - at === 1 ? points[at]! : `${points[at]!} ×${end - at}`);
    at = end;
    if (labels.length === LISTED && at < points.length) labels.push(`+${points.length - at}`);
  }
  return labels.join(" ");
}
