// Names for whoever stands in a request or its history: people, lists, agents and Handraise itself.

import { useMemo } from "react";

import { useNames } from "../api/names";
import { useSignedIn } from "../api/session";
import { strings } from "../strings";

export interface Who {
  /** Who did it. */
  actor: (id: string) => string;
  /** Where it went: a person or a list. */
  target: (id: string | null | undefined) => string;
  type: (id: string) => string;
  agent: (id: string) => string;
  isMe: (id: string | null | undefined) => boolean;
}

export function useWho(): Who {
  const names = useNames();
  const { me } = useSignedIn();
  return useMemo(() => {
    const first = (id: string, ...kinds: ((id: string) => string)[]) =>
      kinds.map((name) => name(id)).find((name) => name !== id) ?? id;
    return {
      actor: (id) => (id === "system" ? strings.request.system : first(id, names.person, names.agent)),
      target: (id) => (id == null ? strings.happened.administrators : first(id, names.person, names.list)),
      type: names.type,
      agent: names.agent,
      isMe: (id) => id === me.id,
    };
  }, [names, me.id]);
}
