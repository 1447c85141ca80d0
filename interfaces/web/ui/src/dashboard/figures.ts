// The dashboard's figures, read again at most once a second while things happen, and now and then: some move with time.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";

import { answer, api, type Schemas } from "../api/client";
import { readAfresh } from "../lib/afresh";
import { useThrottled } from "../lib/throttle";
import { useFrames } from "../live/live";

export type Figures = Schemas["DashboardView"];

export const FIGURES = ["dashboard"];
const EVERY_MS = 60_000;

export function useFigures() {
  const queries = useQueryClient();
  const newest = useRef<number | undefined>(undefined);
  const refresh = useThrottled(() => void readAfresh(queries, { queryKey: FIGURES }), 1_000);
  useFrames((frames) => {
    if (frames !== "resync") newest.current = frames.at(-1)?.position;
    refresh();
  });
  return useQuery({
    queryKey: FIGURES,
    staleTime: 0,
    refetchInterval: EVERY_MS,
    queryFn: () => answer(api.GET("/api/dashboard", { params: { query: { min_position: newest.current } } })),
  });
}
