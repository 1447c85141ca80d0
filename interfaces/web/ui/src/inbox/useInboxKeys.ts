// The keys of the inbox. While a request is open, answering and claiming are its own; nobody approves unseen.

import { useState } from "react";
import { useLocation } from "wouter";

import { answer, api, type RequestItem } from "../api/client";
import { useSignedIn } from "../api/session";
import { complain, say } from "../lib/notify";
import { useShortcuts } from "../lib/shortcuts";
import { strings } from "../strings";

interface Keys {
  row: RequestItem | null;
  openId: string | null;
  beside: (step: 1 | -1) => string | null;
  select: (id: string) => void;
}

/** `moves` counts how often the selection was moved by a key. */
export function useInboxKeys({ row, openId, beside, select }: Keys): { moves: number } {
  const { me } = useSignedIn();
  const [, navigate] = useLocation();
  const [moves, setMoves] = useState(0);

  const move = (step: 1 | -1) => (event: KeyboardEvent) => {
    const id = beside(step);
    if (id === null) return;
    event.preventDefault();
    if (openId !== null) navigate(`/requests/${id}`, { replace: true });
    else select(id);
    setMoves(moves + 1);
  };
  const inList = (act: (event: KeyboardEvent) => void) => (event: KeyboardEvent) => {
    const onRow = event.target instanceof Element && event.target.closest("[data-id]") !== null;
    if (onRow && openId === null) act(event);
  };
  const open = () => {
    if (row !== null && openId === null) navigate(`/requests/${row.id}`);
  };
  const claim = () => {
    if (row === null || openId !== null || row.assigned_to === me.id) return;
    const taken = answer(api.POST("/api/requests/{id}/claim", { params: { path: { id: row.id } } }));
    taken.then(() => say(strings.inbox.claimed), complain);
  };

  useShortcuts({
    j: move(1),
    k: move(-1),
    ArrowDown: inList(move(1)),
    ArrowUp: inList(move(-1)),
    a: open,
    r: open,
    c: claim,
    Enter: (event) => {
      if (event.target === document.body) open();
    },
  });
  return { moves };
}
