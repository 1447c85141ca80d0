// What happened, in words.

import type { HistoryItem } from "../api/client";
import { strings } from "../strings";
import type { Who } from "./who";

export interface Worded {
  line: string;
  /** An instant that belongs to the line. */
  at?: string;
  aside?: string;
  kind: "asked" | "moved" | "good" | "bad" | "end" | "quiet";
}

export function worded(item: HistoryItem, who: Who): Worded {
  const said = strings.happened;
  const actor = who.actor(item.actor);
  switch (item.type) {
    case "Requested": {
      const { chosen, strategy } = item.assignment as { chosen: string | null; strategy: { listID?: string } | null };
      const list = chosen === null && typeof strategy?.listID === "string" ? strategy.listID : null;
      return { line: said.requested(actor, who.target(chosen ?? list)), kind: "asked" };
    }
    case "Reassigned":
      return { line: moved(String(item.cause), actor, who.target(item.to as string | null)), kind: "moved" };
    case "Responded": {
      const outcome = item.outcome as "approved" | "rejected" | "answered";
      return { line: said[outcome](actor), kind: outcome === "rejected" ? "bad" : "good" };
    }
    case "Cancelled":
      return { line: said.cancelled(actor), kind: "end" };
    case "Expired":
      return { line: said.expired, kind: "end" };
    case "AnswerRefused":
      if (typeof item.stranger === "string") return { line: said.refusedStranger(item.stranger), kind: "bad" };
      return { line: (said.refused[String(item.why)] ?? said.refused["not eligible"]!)(actor), kind: "bad" };
    case "Snoozed":
      return typeof item.until === "string"
        ? { line: said.snoozed(actor), at: item.until, kind: "quiet" }
        : { line: said.woken(actor), kind: "quiet" };
    case "Notified":
      return notified(item, who);
    case "Collected":
      return { line: said.collected(actor), kind: "quiet" };
    case "Acknowledged":
      return { line: said.acknowledged(actor), kind: "quiet" };
    case "ContentErased":
      return { line: said.contentErased(actor), kind: "quiet" };
    default:
      return { line: said.other(item.type), kind: "quiet" };
  }
}

function moved(cause: string, actor: string, to: string): string {
  const said = strings.happened;
  switch (cause) {
    case "claimed":
      return said.claimed(actor);
    case "released":
      return said.released(actor);
    case "delegated":
      return said.delegated(actor, to);
    case "escalated":
      return said.escalated(to);
    case "departed":
      return said.departed(to);
    default:
      return said.reassigned(actor, to);
  }
}

/** The channel `web` stands for steps of the ladder that only tell people. */
function notified(item: HistoryItem, who: Who): Worded {
  const said = strings.happened;
  const delivered = item.delivered === true;
  const channel = String(item.channel);
  const known = typeof item.to === "string";
  const to = known ? who.target(item.to as string) : said.somebody;
  if (channel === "web") {
    return { line: delivered ? said.told(to) : said.toldNobody, kind: delivered ? "quiet" : "bad" };
  }
  const attempt = Number(item.attempt);
  const many = attempt > 1 ? `, ${said.attempt(attempt)}` : "";
  if (delivered) return { line: `${said.notified(channel, to)}${many}`, kind: "quiet" };
  const aside = typeof item.retry_at === "string" ? said.retryAt : said.givenUp;
  return { line: `${said.notNotified(channel, to)}${many}`, aside, kind: "bad" };
}
