// Doing something with a request: once at a time, seen at once, and a refusal is said where it happened.

import { useRef, useState } from "react";

import type { RequestView } from "../api/client";
import { say } from "../lib/notify";
import { useRefresh, useShow } from "./data";

export interface Acting {
  /** Whether it was done. */
  act: (call: () => Promise<RequestView | { position: number }>, said: string) => Promise<boolean>;
  sending: boolean;
  error: unknown;
  forget: () => void;
}

export function useAct(id: string): Acting {
  const show = useShow(id);
  const refresh = useRefresh(id);
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const busy = useRef(false);

  return {
    sending,
    error,
    forget: () => setError(null),
    act: async (call, said) => {
      if (busy.current) return false;
      busy.current = true;
      setSending(true);
      setError(null);
      try {
        const done = await call();
        if ("status" in done) show(done);
        else refresh(done.position);
        say(said);
        return true;
      } catch (reason) {
        setError(reason);
        refresh(); // somebody else may have been faster
        return false;
      } finally {
        busy.current = false;
        setSending(false);
      }
    },
  };
}
