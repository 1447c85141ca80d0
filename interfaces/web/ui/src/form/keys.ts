// The keys that send a form.

import type { KeyboardEvent } from "react";

import { strings } from "../strings";

export function isSubmit(event: KeyboardEvent): boolean {
  return event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.nativeEvent.isComposing;
}

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent);

export const SUBMIT_KEYS = strings.form.submitKeys(isApple ? "⌘" : "Ctrl");
