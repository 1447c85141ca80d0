import { type RefObject, useEffect, useRef } from "react";

/** The value of the newest rendering, for what is set up once and called later. */
export function useNewest<T>(value: T): RefObject<T> {
  const newest = useRef(value);
  useEffect(() => {
    newest.current = value;
  });
  return newest;
}
