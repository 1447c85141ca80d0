// Which row is selected: moved by keys and by what happens to the list, never lost.

import { useLayoutEffect, useRef, useState } from "react";

interface Selection {
  /** The row of the request that is open, else the one that keys act on. */
  id: string | null;
  index: number;
  select: (id: string) => void;
  /** The request one further down (1) or up (-1); null at the end. */
  beside: (step: 1 | -1) => string | null;
}

export function useSelection(ids: readonly string[], openId: string | null): Selection {
  const [selected, select] = useState<string | null>(openId);
  const last = useRef(-1);

  // What was open stays selected when it closes.
  if (openId !== null && selected !== openId) select(openId);
  const found = selected === null ? -1 : ids.indexOf(selected);
  // Its row has left the list: the next one has its place, unless the request itself is still being read.
  const heir = found === -1 && last.current >= 0 && openId === null ? ids[Math.min(last.current, ids.length - 1)] : null;
  useLayoutEffect(() => {
    if (found >= 0) last.current = found;
    if (heir != null) select(heir);
  });

  return {
    id: heir ?? selected,
    index: heir == null ? found : ids.indexOf(heir),
    select,
    beside: (step) => {
      if (found >= 0) return ids[found + step] ?? null;
      return ids[step === 1 ? Math.max(last.current, 0) : last.current - 1] ?? null;
    },
  };
}
