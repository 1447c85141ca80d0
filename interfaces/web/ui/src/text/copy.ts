// Into the clipboard, also where the page came over plain HTTP and the browser offers no clipboard of its own.

import { say } from "../lib/notify";
import { strings } from "../strings";

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

export async function copyAndSay(text: string, said: string): Promise<void> {
  say((await copy(text)) ? said : strings.text.notCopied);
}

function copyBySelection(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.readOnly = true;
  field.setAttribute("aria-hidden", "true");
  field.style.position = "fixed";
  field.style.opacity = "0";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return done;
}
