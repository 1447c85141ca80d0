// How many requests wait for this person: in the menu, in the title and on the icon of the tab.

import { Badge, Tooltip, VisuallyHidden } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { answer, api, type Schemas } from "../api/client";
import { newestPosition, useFrames } from "../live/live";
import { useThrottled } from "../lib/throttle";
import { strings } from "../strings";
import { showOnIcon } from "./favicon";
import { showWaiting } from "./title";

export type Counts = Schemas["CountsView"];

const KEY = ["inbox-counts"];
const REFRESH_MS = 1_000;

/** How many requests each scope of the inbox holds; null until that is known. */
export function useCounts(): Counts | null {
  const found = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) =>
      answer(api.GET("/api/inbox/counts", { params: { query: { min_position: newestPosition() } }, signal })),
  });
  return found.data ?? null;
}

/** Keeps the counts, the title and the icon true while the page is open. */
export function usePending(): void {
  const queries = useQueryClient();
  const refresh = useThrottled(() => void read(), REFRESH_MS);
  // What is being read already is waited for: frames that come faster than answers must not keep it from the screen.
  async function read(): Promise<void> {
    await queries.refetchQueries({ queryKey: KEY }, { cancelRefetch: false });
    const { data, status } = queries.getQueryState<Counts>(KEY) ?? {};
    if (status === "success" && data !== undefined && data.position < (newestPosition() ?? 0)) refresh();
  }
  useFrames(refresh);
  const mine = useCounts()?.mine;
  const shown = useRef(0);
  useEffect(() => {
    if (mine === undefined || mine === shown.current) return;
    shown.current = mine;
    showWaiting(mine);
    showOnIcon(mine);
  }, [mine]);
}

export function PendingBadge() {
  const counts = useCounts();
  if (counts === null || counts.mine + counts.shared === 0) return null;
  const { mine, shared } = counts;
  const words = shared > 0 ? strings.pending.more(mine, shared) : strings.pending.open(mine);
  return (
    <Tooltip label={words} position="right">
      <Badge size="sm" variant={mine > 0 ? "filled" : "default"} circle={(mine || shared) < 10}>
        <span aria-hidden>{mine || shared}</span>
        <VisuallyHidden>{words}</VisuallyHidden>
      </Badge>
    </Tooltip>
  );
}
