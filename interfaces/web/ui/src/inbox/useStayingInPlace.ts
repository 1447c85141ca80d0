// What one is reading stays where it is while rows come and go above it.

import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

interface Place {
  /** New rows above what is in view. */
  above: number;
  toTop: () => void;
}

export function useStayingInPlace(scroller: RefObject<HTMLElement | null>, ids: readonly string[], height: number): Place {
  const shown = useRef(ids);
  const [above, setAbove] = useState(0);

  useLayoutEffect(() => {
    const before = shown.current;
    const element = scroller.current;
    shown.current = ids;
    if (before === ids || element === null) return;
    const top = Math.floor(element.scrollTop / height);
    if (top === 0) return; // at the top one wants to see what comes
    const places = new Map(ids.map((id, index) => [id, index]));
    const index = before.findIndex((id, at) => at >= top && places.has(id));
    if (index === -1) return;
    const place = places.get(before[index]!)!;
    element.scrollTop += (place - index) * height;
    const known = new Set(before);
    const come = ids.slice(0, place).filter((id) => !known.has(id)).length;
    if (come > 0) setAbove((count) => count + come);
  }, [scroller, ids, height]);

  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const seen = () => {
      if (element.scrollTop < height) setAbove(0);
    };
    element.addEventListener("scroll", seen, { passive: true });
    return () => element.removeEventListener("scroll", seen);
  }, [scroller, height]);

  return { above, toTop: () => scroller.current?.scrollTo({ top: 0 }) };
}
