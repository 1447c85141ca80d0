// Tells a person in the browser that a request has become theirs to answer, and takes it back when it is not any more.

import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useLocation, useRoute } from "wouter";

import { answer, api, type RequestItem } from "../api/client";
import { useSignedIn } from "../api/session";
import { URGENT } from "../inbox/InboxRow";
import type { Frame } from "../live/frames";
import { useFrames } from "../live/live";
import { plainText } from "../lib/plain-text";
import type { Scope } from "../shell/Pages";
import { strings } from "../strings";
import { once } from "./once";
import { choice, permission } from "./permission";
import { renew } from "./push";
import { close, show, shownTags } from "./showing";
import { onOpen } from "./worker";

const MOST_WORDS = 200;
const MINUTES = 60_000;

export function useBrowserNotifications(): void {
  const { me, administers, mayAct } = useSignedIn();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const openId = useRoute("/requests/:id")[1]?.id ?? null;

  useEffect(() => onOpen(navigate), [navigate]);
  useEffect(() => void renew(), [me.id]);
  useEffect(() => {
    if (openId !== null) void close(openId); // seen
  }, [openId]);

  async function tell(frame: Frame): Promise<void> {
    if (openId === frame.request_id && document.hasFocus()) return;
    const scope: Scope = frame.assigned_to === me.id ? "mine" : "shared";
    const query = { scope, ids: [frame.request_id], min_position: frame.position };
    const item = (await answer(api.GET("/api/inbox", { params: { query } }))).items[0];
    if (item === undefined || (scope === "shared" && administers && !(await isForMe(item, me.id, queries)))) return;
    const body = choice().generic || item.secret ? strings.notifications.generic : wordsOf(item);
    const urgent = item.priority <= URGENT;
    await show(
      { title: strings.notifications.title, body, tag: item.id, url: `/requests/${item.id}`, urgent },
      navigate,
    );
  }

  useFrames((frames) => {
    if (frames === "resync") return void closeOthers();
    for (const frame of newestOfEach(frames)) {
      if (!isMine(frame, me.id)) void close(frame.request_id);
      else if (mayAct && permission() === "granted" && choice().on && isNews(frame, me.id))
        // Who cannot be asked now is not told: the list shows it as soon as it can be read.
        void once(`${frame.request_id}@${frame.position}`, () => tell(frame)).catch(() => undefined);
    }
  });
}

/** What may have happened while nothing was heard: keep only notifications of what still waits for me. */
async function closeOthers(): Promise<void> {
  const tags = (await shownTags()).slice(0, 100);
  if (tags.length === 0) return;
  try {
    const query = { status: ["Requested" as const], ids: tags };
    const { items } = await answer(api.GET("/api/requests", { params: { query } }));
    const open = new Set(items.map(({ id }) => id));
    for (const tag of tags) if (!open.has(tag)) void close(tag);
  } catch {
    // they stay until they are clicked or their time is over
  }
}

function newestOfEach(frames: Frame[]): Iterable<Frame> {
  return new Map(frames.map((frame) => [frame.request_id, frame])).values();
}

/** Asked of me, or of anybody: whether I am one of these the inbox says. */
function isMine(frame: Frame, me: string): boolean {
  return frame.status === "Requested" && (frame.assigned_to === me || frame.assigned_to === null);
}

function isNews(frame: Frame, me: string): boolean {
  return (frame.type === "Requested" || frame.type === "Reassigned") && frame.actor !== me;
}

/** Administrators may take from every list; they are told of their own lists, and of what nobody is asked. */
async function isForMe(item: RequestItem, me: string, queries: QueryClient): Promise<boolean> {
  if (item.list === null) return true;
  const lists = await queries.fetchQuery({
    queryKey: ["lists-of", me],
    staleTime: MINUTES,
    queryFn: () => listsOf(me),
  });
  return lists.includes(item.list);
}

async function listsOf(me: string): Promise<string[]> {
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await answer(api.GET("/api/lists", { params: { query: { limit: 200, cursor } } }));
    found.push(...page.items.filter(({ members }) => members?.includes(me)).map(({ id }) => id));
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}

function wordsOf(item: RequestItem): string {
  const text = plainText(item.summary ?? "");
  if (text === "") return strings.notifications.generic;
  return text.length > MOST_WORDS ? `${text.slice(0, MOST_WORDS).trimEnd()}…` : text;
}
