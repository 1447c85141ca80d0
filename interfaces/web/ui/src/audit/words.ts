// Each event in plain words. What nobody thought of here is still named by its type.

import type { Names } from "../api/names";
import { duration } from "../lib/time";
import { strings } from "../strings";
import type { AuditItem } from "./events";

/** "answered" stands between who did it and the request, "via web, approved" after it. */
export interface Said {
  did: string;
  more?: string | undefined;
}

const words = strings.events;

export function sayEvent(event: AuditItem, names: Names): Said {
  return event.of === "Request" ? ofRequest(event, names) : ofOthers(event);
}

/** A fact that should be text. */
function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function ofRequest({ type, facts, at }: AuditItem, names: Names): Said {
  switch (type) {
    case "Requested":
      return { did: words.asked, more: names.type(text(facts.request_type)) };
    case "Responded": {
      const outcome = strings.status[text(facts.outcome) as "approved" | "rejected" | "answered"];
      const more = [words.via(text(facts.via)), outcome?.toLowerCase(), facts.sealed === true && words.sealed];
      return { did: words.answered, more: more.filter(Boolean).join(", ") };
    }
    case "Cancelled":
      return { did: words.cancelled };
    case "Expired":
      return { did: words.closed, more: words.timeUp };
    case "Reassigned":
      return { did: words.reassigned[text(facts.cause)] ?? words.reassigned.reassigned ?? type };
    case "Notified": {
      const failed = facts.delivered === true ? undefined : `${words.failed}: ${text(facts.error)}`;
      return { did: words.notified(text(facts.channel)), more: failed };
    }
    case "AnswerRefused":
      // The actor is Handraise itself, which knows nobody who did it.
      if (typeof facts.stranger === "string") return { did: words.turnedAway, more: words.ofStranger(facts.stranger) };
      return { did: words.refused, more: `${words.via(text(facts.via))}: ${words.why[text(facts.why)] ?? text(facts.why)}` };
    case "Snoozed": {
      if (facts.until === null) return { did: words.woke };
      const seconds = (Date.parse(text(facts.until)) - Date.parse(at)) / 1000;
      return { did: words.snoozed, more: words.for(duration(seconds)) };
    }
    default:
      return { did: words.ofRequests[type] ?? words.other(type) };
  }
}

function ofOthers({ type, of, facts, content }: AuditItem): Said {
  const thing = words.things[of] ?? of;
  const known = text(facts.name) || text(content?.name) || text(facts.readable_id);
  const did = words.ofThings[`${of}.${type}`];
  if (did !== undefined) return { did, more: words.by(text(facts.how)) };
  if (of === "User" && type === "Changed" && facts.active === false) return { did: words.deactivated, more: known };
  const act = words.acts[type];
  return act === undefined ? { did: words.other(`${of}.${type}`) } : { did: `${act} ${thing}`, more: known };
}

/** Who did it: a person, an agent or the service itself. */
export function sayActor(actor: string, names: Names): string {
  if (actor === "system") return strings.audit.system;
  const person = names.person(actor);
  return person === actor ? names.agent(actor) : person;
}
