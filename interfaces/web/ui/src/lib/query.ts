// Filters that live in the address: shared by copying it, undone by the back button.

import { useCallback, useRef } from "react";
import { useLocation, useSearch } from "wouter";

/** Values by name; null, "" and [] take a name out of the address. */
export type Change = Record<string, string | string[] | null | undefined>;

export function changed(query: URLSearchParams, change: Change): URLSearchParams {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(change)) {
    next.delete(name);
    for (const each of Array.isArray(value) ? value : [value ?? ""]) if (each !== "") next.append(name, each);
  }
  return next;
}

export function withQuery(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

interface Options {
  /** Instead of a new step for the back button. */
  replace?: boolean;
  state?: unknown;
}

export type SetQuery = (change: Change | URLSearchParams, options?: Options) => void;

/** The query of the page at `path`. It stays what it was while another page, such as a request, has the address. */
export function useQueryOf(path: string): [URLSearchParams, SetQuery] {
  const [here, navigate] = useLocation();
  const search = useSearch();
  const newest = useRef(new URLSearchParams());
  // Compared as text: the same query stays the same object.
  if (here === path && newest.current.toString() !== new URLSearchParams(search).toString()) {
    newest.current = new URLSearchParams(search);
  }
  const set = useCallback<SetQuery>(
    (change, options) => {
      const next = change instanceof URLSearchParams ? change : changed(newest.current, change);
      navigate(withQuery(path, next), options);
    },
    [navigate, path],
  );
  return [newest.current, set];
}
