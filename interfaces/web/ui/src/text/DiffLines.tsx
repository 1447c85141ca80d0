// A diff: what comes and what goes by sign, bar and colour.

import { Marked } from "./Marked";
import classes from "./text.module.css";

export function DiffLines({ text }: { text: string }) {
  return text.split("\n").map((line, index) => (
    <span key={index} className={`${classes.line} ${kindOf(line)}`}>
      <Marked text={line} />
    </span>
  ));
}

function kindOf(line: string): string {
  if (/^(\+\+\+|---)( |$)/.test(line) || /^(diff|index|Index:) /.test(line)) return classes.file!;
  if (line.startsWith("@@")) return classes.place!;
  if (line.startsWith("+")) return classes.added!;
  if (line.startsWith("-")) return classes.removed!;
  return "";
}
