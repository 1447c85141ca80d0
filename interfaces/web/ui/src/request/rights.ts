// Who may do what with a request: the table of the contract, as far as it concerns the person who looks.

import { useQuery } from "@tanstack/react-query";

import { answer, api, type RequestView } from "../api/client";
import { useNames } from "../api/names";
import { useSignedIn } from "../api/session";
import { strings } from "../strings";
import { positionFor } from "./data";

export interface Rights {
  answer: boolean;
  whyNot: string | undefined;
  claim: boolean;
  release: boolean;
  delegate: boolean;
  reassign: boolean;
  snooze: boolean;
  cancel: boolean;
}

interface Listed {
  /** It stands in an inbox that this person shares, or they were told of it. */
  shared: boolean;
  /** Nothing keeps this person from answering it. */
  mayBeAsked: boolean;
}

/** Null until it is known. `id` is the one that the page was opened with. */
export function useRights(id: string, request: RequestView): Rights | null {
  const { me, administers, mayAct } = useSignedIn();
  const names = useNames();
  const open = request.status === "Requested";
  const mine = request.assigned_to === me.id;

  // Lists and what the ladder told are known to the server only: whether it is in the caller's inbox says it all.
  const asks = open && mayAct && !mine;
  const found = useQuery({
    queryKey: ["request", id, "listed"],
    staleTime: 0,
    enabled: asks,
    queryFn: async (): Promise<Listed> => {
      const shared = await isListed(id, request.id, "shared");
      return { shared, mayBeAsked: shared || (administers && (await isListed(id, request.id, "all"))) };
    },
  });
  if (asks && found.isPending) return null;
  const listed = found.data ?? { shared: false, mayBeAsked: false };

  const answers =
    open && mayAct && (mine || (administers && listed.mayBeAsked) || (request.assigned_to === null && listed.shared));
  const decides = open && mayAct && (mine || administers);
  const taken = request.assigned_to !== null;
  return {
    answer: answers,
    whyNot: answers ? undefined : whyNot(),
    claim: asks && listed.shared,
    release: decides && taken && (request.list !== null || request.claimed),
    delegate: open && mayAct && mine,
    reassign: open && administers,
    snooze: decides && taken,
    cancel: decides,
  };

  function whyNot(): string {
    const said = strings.request.whyNot;
    if (!open) return said.closed;
    if (!mayAct) return said.auditor;
    if (taken && listed.shared) return said.claimFirst;
    if (!listed.mayBeAsked && (request.run_user === me.id || administers)) return said.self;
    if (!taken) return request.list === null ? said.nobody : said.list;
    const person = names.person(request.assigned_to);
    return request.claimed ? said.claimed(person) : said.other(person);
  }
}

async function isListed(id: string, requestId: string, scope: "shared" | "all"): Promise<boolean> {
  const query = { scope, ids: [requestId], limit: 1, min_position: positionFor(id) };
  return (await answer(api.GET("/api/inbox", { params: { query } }))).items.length > 0;
}
