// Names for readable ids. What one may not see the name of shows its id.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { answer, api } from "./client";
import { everyItem } from "./pages";
import { useSignedIn } from "./session";

export interface Named {
  id: string;
  name: string;
}

type Collection = "/api/users" | "/api/lists" | "/api/agents" | "/api/request-types";

const MINUTES = 60_000;

/** All of a collection by name; `unknown` while it is not read, or may not be. */
function useNamed(collection: Collection, unknown: Named[]): Named[] {
  const { seesEverything } = useSignedIn();
  const found = useQuery({
    queryKey: ["names", collection],
    staleTime: 5 * MINUTES,
    enabled: seesEverything || collection === "/api/users", // who there is, everybody may see
    queryFn: async () => {
      const items = await everyItem((cursor) =>
        answer(api.GET(collection, { params: { query: { limit: 200, cursor } } })),
      );
      return items.map(({ id, name }) => ({ id, name: name ?? id }));
    },
  });
  return found.data ?? unknown;
}

/** Everybody, by name: for choosing a person, and for showing who did what. */
export const usePeople = (): Named[] => useNamed("/api/users", NOBODY);
export const useLists = (): Named[] => useNamed("/api/lists", NOBODY);
export const useAgents = (): Named[] => useNamed("/api/agents", NOBODY);
export const useRequestTypes = (): Named[] => useNamed("/api/request-types", SEEDED_TYPES);

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
