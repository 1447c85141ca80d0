// At once the first time, then at most once in a while, and never without the last call.

import { useEffect, useMemo } from "react";

import { useNewest } from "./newest";

export interface Throttled {
  (): void;
  cancel: () => void;
}

export function throttled(act: () => void, milliseconds: number): Throttled {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wanted = false;
  function due(): void {
    timer = undefined;
    if (wanted) call();
  }
  function call(): void {
    wanted = timer !== undefined;
    if (wanted) return;
    timer = setTimeout(due, milliseconds);
    act();
  }
  return Object.assign(call, { cancel: () => clearTimeout(timer) });
}

/** Calls the newest `act`; nothing is called any more once the component is gone. */
export function useThrottled(act: () => void, milliseconds: number): () => void {
  const newest = useNewest(act);
  const call = useMemo(() => throttled(() => newest.current(), milliseconds), [milliseconds]);
  useEffect(() => call.cancel, [call]);
  return call;
}
