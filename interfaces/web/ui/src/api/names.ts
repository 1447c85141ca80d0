// Names for readable ids. What one may not see the name of shows its id.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { answer, api } from "./client";
import { useSignedIn } from "./session";

export interface Named {
  id: string;
  name: string;
}

interface PageOfNames {
  items: { id: string; name: string | null }[];
  next_cursor: string | null;
}

async function all(page: (cursor: string | undefined) => Promise<PageOfNames>): Promise<Named[]> {
  const found: Named[] = [];
  let cursor: string | undefined;
  do {
    const { items, next_cursor } = await page(cursor);
    found.push(...items.map(({ id, name }) => ({ id, name: name ?? id })));
    cursor = next_cursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}

const MINUTES = 60_000;

/** Everybody, by name: for choosing a person, and for showing who did what. */
export function usePeople(): Named[] {
  const found = useQuery({
    queryKey: ["names", "users"],
    staleTime: 5 * MINUTES,
    queryFn: () => all((cursor) => answer(api.GET("/api/users", { params: { query: { limit: 200, cursor } } }))),
  });
  return found.data ?? NOBODY;
}

export function useLists(): Named[] {
  const found = useQuery({
    queryKey: ["names", "lists"],
    staleTime: 5 * MINUTES,
    enabled: useSignedIn().seesEverything,
    queryFn: () => all((cursor) => answer(api.GET("/api/lists", { params: { query: { limit: 200, cursor } } }))),
  });
  return found.data ?? NOBODY;
}

export function useAgents(): Named[] {
  const found = useQuery({
    queryKey: ["names", "agents"],
    staleTime: 5 * MINUTES,
    enabled: useSignedIn().seesEverything,
    queryFn: () => all((cursor) => answer(api.GET("/api/agents", { params: { query: { limit: 200, cursor } } }))),
  });
  return found.data ?? NOBODY;
}

export function useRequestTypes(): Named[] {
  const found = useQuery({
    queryKey: ["names", "request-types"],
    staleTime: 5 * MINUTES,
    enabled: useSignedIn().seesEverything,
    queryFn: () =>
      all((cursor) => answer(api.GET("/api/request-types", { params: { query: { limit: 200, cursor } } }))),
  });
  return found.data ?? SEEDED_TYPES;
}

const NOBODY: Named[] = [];

/** Those that every installation begins with, for people who may not read the directory. */
const SEEDED_TYPES: Named[] = [
  { id: "approval", name: "Approval" },
  { id: "clarification", name: "Clarification" },
  { id: "data-input", name: "Data Input" },
  { id: "review", name: "Review" },
  { id: "error-resolution", name: "Error Resolution" },
];

export interface Names {
  person: (id: string | null | undefined) => string;
  list: (id: string) => string;
  agent: (id: string) => string;
  type: (id: string) => string;
}

/** One way to write a name for each kind of id. */
export function useNames(): Names {
  const people = usePeople();
  const lists = useLists();
  const agents = useAgents();
  const types = useRequestTypes();
  return useMemo(() => {
    const finder = (named: Named[]) => {
      const names = new Map(named.map(({ id, name }) => [id, name]));
      return (id: string | null | undefined) => (id == null ? "" : (names.get(id) ?? id));
    };
    return { person: finder(people), list: finder(lists), agent: finder(agents), type: finder(types) };
  }, [people, lists, agents, types]);
}
