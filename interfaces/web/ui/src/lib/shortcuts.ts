// Keyboard shortcuts: single keys, never while one is typing.

import { useEffect } from "react";

import { useNewest } from "./newest";

export type Shortcuts = Record<string, (event: KeyboardEvent) => void>;

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.closest("input, textarea, select, [role=combobox], [role=textbox]") !== null;
}

const SWITCHED_OFF = "handraise.keys-off";

/** Whether single keys do something here. Who speaks to the computer, or hits keys by mistake, wants to switch them off. */
export function areKeysOn(): boolean {
  return localStorage.getItem(SWITCHED_OFF) === null;
}

export function switchKeys(on: boolean): void {
  if (on) localStorage.removeItem(SWITCHED_OFF);
  else localStorage.setItem(SWITCHED_OFF, "1");
}

/** `keys` by `KeyboardEvent.key`; "mod+Enter" works while typing too. While a dialog is open only it hears keys. */
export function useShortcuts(keys: Shortcuts): void {
  const newest = useNewest(keys);
  useEffect(() => {
    function hear(event: KeyboardEvent): void {
      if (event.defaultPrevented || event.isComposing || event.altKey) return;
      const mod = event.ctrlKey || event.metaKey;
      const action = newest.current[mod ? `mod+${event.key}` : event.key];
      if (action === undefined) return;
      const single = !mod && event.key.length === 1;
      if (!mod && (isTyping(event.target) || document.querySelector("[role=dialog][aria-modal=true]") !== null)) return;
      if (single && !areKeysOn()) return;
      action(event);
    }
    addEventListener("keydown", hear);
    return () => removeEventListener("keydown", hear);
  }, []);
}
