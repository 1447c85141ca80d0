// A request as somebody thinks of it, and what the server would make of it.

import type { Schemas } from "../api/client";
import { strings } from "../strings";

export type ExplainBody = Schemas["ExplainBody"];

export interface Wanted {
  agent: string | null;
  type: string | null;
  runUser: string | null;
  priority: string;
  minutes: string;
  message: string;
  /** "" for none, the type of a strategy, or "json". */
  strategy: string;
  user: string | null;
  list: string | null;
  listStrategy: string | null;
  json: string;
}

export const NOTHING_YET: Wanted = {
  agent: null,
  type: null,
  runUser: null,
  priority: "",
  minutes: "",
  message: "",
  strategy: "",
  user: null,
  list: null,
  listStrategy: null,
  json: "",
};

export function needsList(strategy: string): boolean {
  return strategy === "List" || strategy === "SharedInbox";
}

export function bodyOf(wanted: Wanted): ExplainBody {
  const { agent, type, runUser, priority, minutes, message } = wanted;
  const body: Record<string, unknown> = {
    message: message.trim() === "" ? strings.routing.exampleMessage : message,
    agent: agent ?? undefined,
    request_type: type ?? undefined,
    run_user: runUser ?? undefined,
    priority: priority.trim() === "" ? undefined : number(priority),
    expires_in_seconds: minutes.trim() === "" ? undefined : seconds(minutes),
    assignment_strategy: strategyOf(wanted),
  };
  return body as ExplainBody;
}

/** What is no number is sent as it is: the server says so at its field. */
function number(text: string): number | string {
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

function seconds(text: string): number | string {
  const value = number(text);
  return typeof value === "number" ? value * 60 : value;
}

function strategyOf({ strategy, user, list, listStrategy, json }: Wanted): unknown {
  if (strategy === "") return undefined;
  if (strategy === "json") return json;
  return {
    type: strategy,
    ...(strategy === "SpecificUser" && user !== null && { userID: user }),
    ...(needsList(strategy) && list !== null && { listID: list }),
    ...(strategy === "List" && listStrategy !== null && { listStrategy }),
  };
}
