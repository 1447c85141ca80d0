// Whether what was filled in, and not saved, may go.

import { strings } from "../strings";
import { Question } from "./Question";

const text = strings.settings;

export function DiscardQuestion({ onKeep, onLeave }: { onKeep: () => void; onLeave: () => void }) {
  return (
    <Question question={text.discardQuestion} no={text.keepEditing} yes={text.discard} onNo={onKeep} onYes={onLeave} />
  );
}
