// Calls to the server: typed by its own OpenAPI, with the session's CSRF token, and refusals as `Refused`.

import createClient, { type Middleware } from "openapi-fetch";

import { isEmbedded } from "../embed/embedded";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
export type RequestView = Schemas["RequestView"];
export type RequestItem = Schemas["RequestItem"];
export type HistoryItem = Schemas["HistoryItem"] & Record<string, unknown>;
export type Assignment = Schemas["Assignment"];
export type Me = Schemas["MeView"];

export interface FieldProblem {
  path: string;
  message: string;
}

/** What the server said no to, and why (RFC 9457). */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly detail: string,
    readonly errors: FieldProblem[] = [],
    /** The request's state, where it has changed meanwhile: status and who closed or claimed it. */
    readonly request: Record<string, unknown> | null = null,
    readonly retryAfterSeconds: number | null = null,
  ) {
    super(detail);
  }
}

/** The server could not be reached at all; nothing is known of what became of the call. */
export class Unreachable extends Error {}

let csrfToken: string | null = null;

export function rememberCsrfToken(token: string): void {
  csrfToken = token;
}

const guarded: Middleware = {
  onRequest({ request }) {
    if (csrfToken !== null && request.method !== "GET") request.headers.set("X-CSRF-Token", csrfToken);
    if (isEmbedded) request.headers.set("X-Handraise-Embed", "1");
    return request;
  },
  onError() {
    return new Unreachable();
  },
};

export const api = createClient<paths>({ baseUrl: location.origin });
api.use(guarded);

interface Answered<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** What the server answered. Throws `Refused`, `Unreachable`; without a session the browser goes to sign in. */
export async function answer<T>(call: Promise<Answered<T>>): Promise<NonNullable<T>> {
  const { data, error, response } = await call;
  if (response.ok) return data as NonNullable<T>;
  const problem = (error ?? {}) as Partial<Schemas["Problem"]>;
  if (response.status === 401) signInAgain();
  const retryAfter = Number(response.headers.get("Retry-After"));
  throw new Refused(
    response.status,
    problem.detail ?? response.statusText,
    (problem.errors ?? []) as unknown as FieldProblem[],
    problem.request ?? null,
    Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter : null,
  );
}

/** Heard by the page of an embedded frame: it cannot lead to the sign-in page, the page around it must. */
export const SIGNED_OUT = "handraise:signed-out";

/** Sign in, and come back to where one was. */
export function signInAgain(): void {
  if (isEmbedded) {
    dispatchEvent(new Event(SIGNED_OUT));
    return;
  }
  const here = location.pathname + location.search;
  location.assign(here === "/" ? "/sign-in" : `/sign-in?next=${encodeURIComponent(here)}`);
}
