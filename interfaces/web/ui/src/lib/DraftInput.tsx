// A text field over a value that is expensive to change: told on once the typing pauses.

import { TextInput, type TextInputProps } from "@mantine/core";
import { useEffect, useRef, useState } from "react";

const PAUSE_MS = 350;

interface Props extends Omit<TextInputProps, "value" | "onChange" | "defaultValue"> {
  value: string;
  /** `going on` when it only goes on with what was told since the field got the focus. */
  onCommit: (value: string, goingOn: boolean) => void;
}

export function DraftInput({ value, onCommit, ...props }: Props) {
  const [draft, setDraft] = useState(value);
  const told = useRef(value);
  const goingOn = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);

  // Changed from outside, by the back button for one; what was told from here is here already.
  useEffect(() => {
    if (value === told.current) return;
    told.current = value;
    clearTimeout(timer.current);
    setDraft(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);

  const tell = (text: string) => {
    clearTimeout(timer.current);
    if (text === told.current) return;
    told.current = text;
    onCommit(text, goingOn.current);
    goingOn.current = true;
  };
  return (
    <TextInput
      {...props}
      value={draft}
      onFocus={() => (goingOn.current = false)}
      onChange={({ currentTarget }) => {
        const text = currentTarget.value;
        setDraft(text);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => tell(text.trim()), PAUSE_MS);
      }}
      onBlur={() => tell(draft.trim())}
      onKeyDown={({ key }) => {
        if (key === "Enter") tell(draft.trim());
      }}
    />
  );
}
