// Text as it was written, its hidden characters made visible. For whatever is no Markdown.

import { strings } from "../strings";
import { pieces } from "./hidden";
import classes from "./text.module.css";

export function Marked({ text }: { text: string }) {
  const parts = pieces(text);
  if (parts.length === 1 && parts[0] === text) return text;
  return parts.map((part, index) =>
    typeof part === "string" ? part : <HiddenMark key={index} label={part.label} />,
  );
}

export function HiddenMark({ label }: { label: string }) {
  return (
    <span className={classes.mark} title={strings.text.hidden(label)} dir="ltr">
      ⟨{label}⟩
    </span>
  );
}
