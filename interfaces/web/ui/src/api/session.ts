// Who is signed in: asked once, before anything is shown.

import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";

import { answer, api, rememberCsrfToken, type Me } from "./client";

export interface SignedIn {
  me: Me;
  administers: boolean;
  /** Administrators and auditors read everything. */
  seesEverything: boolean;
  /** Auditors change nothing. */
  mayAct: boolean;
}

const meQuery = queryOptions({
  queryKey: ["me"],
  staleTime: Infinity,
  queryFn: () => answer(api.GET("/api/me", {})),
});

/** Begin: the session's CSRF token and the person. Throws `Refused` with status 401 where nobody is signed in. */
export async function begin(): Promise<Me> {
  const session = await answer(api.GET("/api/session", {}));
  rememberCsrfToken(session.csrf_token);
  return await answer(api.GET("/api/me", {}));
}

/** The person who is signed in; only below the guard in the shell, which has asked already. */
export function useSignedIn(): SignedIn {
  const me = useQuery(meQuery).data;
  if (me === undefined) throw new Error("used outside the signed-in part");
  return {
    me,
    administers: me.role === "administrator",
    seesEverything: me.role !== "member",
    mayAct: me.role !== "auditor",
  };
}

export function useRememberMe(): (me: Me) => void {
  const queries = useQueryClient();
  return (me) => queries.setQueryData(meQuery.queryKey, me);
}

export async function signOut(): Promise<void> {
  await answer(api.DELETE("/api/session", {}));
  location.assign("/sign-in");
}
