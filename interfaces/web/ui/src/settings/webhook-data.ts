// The webhooks of agents and what was sent to them, read again every few seconds while somebody looks.

import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";

import { answer, api, type Schemas } from "../api/client";
import { everyItem } from "../api/pages";

export type Delivery = Schemas["DeliveryView"];
export type Stored = Schemas["WebhookView"];

const EVERY_MS = 3_000;
const PER_PAGE = 50;

const ALL = ["webhooks"];
const LISTED = [...ALL, "listed"];
const one = (agent: string) => [...ALL, "one", agent];
const deliveries = (agent: string) => [...ALL, "deliveries", agent];

/** What attempts change by itself is asked for again and again, so a question that fails is not repeated besides. */
const LIVE = { staleTime: 0, retry: false, refetchInterval: EVERY_MS };

export const of = (agent: string) => ({ path: { id: agent } });

export function useWebhooks() {
  return useQuery({
    queryKey: LISTED,
    ...LIVE,
    queryFn: () =>
      everyItem((cursor) => answer(api.GET("/api/webhooks", { params: { query: { limit: 200, cursor } } }))),
  });
}

export function useWebhook(agent: string) {
  return useQuery({
    queryKey: one(agent),
    gcTime: 0, // whoever comes back begins with what holds then
    staleTime: Infinity, // and what one fills in is not about something else suddenly
    queryFn: () => read(agent),
  });
}

export function useDeliveries(agent: string) {
  return useInfiniteQuery({
    queryKey: deliveries(agent),
    ...LIVE,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(
        api.GET("/api/agents/{id}/webhook/deliveries", {
          params: { ...of(agent), query: { limit: PER_PAGE, cursor } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
}

export const read = (agent: string): Promise<Stored> =>
  answer(api.GET("/api/agents/{id}/webhook", { params: of(agent) }));

/** Have it as said; returns the secret where it is a new webhook, null where the agent had it already. */
export async function write(agent: string, body: Schemas["WebhookBody"]): Promise<string | null> {
  const call = api.PUT("/api/agents/{id}/webhook", { params: of(agent), body });
  const { secret } = await answer(call);
  const { response } = await call;
  return response.status === 201 ? secret : null;
}

/** Call after each change: all that is shown of webhooks is read again. */
export function useRead(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ALL });
}
