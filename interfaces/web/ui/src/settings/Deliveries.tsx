// The log of what was sent to a webhook. The newest attempt at each report can be made once more.

import { Anchor, Button, Group, Stack, Table, Text, Title } from "@mantine/core";
import { useLayoutEffect, useRef, useState } from "react";
import { Link } from "wouter";

import { answer, api } from "../api/client";
import { complain, say } from "../lib/notify";
import { Empty, Failure, Loading } from "../lib/State";
import { duration, milliseconds, useNow } from "../lib/time";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import { AsOf } from "./AsOf";
import { Outcome } from "./Outcome";
import classes from "./Settings.module.css";
import { useDeliveries, type Delivery } from "./webhook-data";

const text = strings.settings.webhooks;
const SHOWN_OF_ID = 8;

interface Props {
  agent: string;
  /** Whether anything is sent at all. */
  sends: boolean;
}

export function Deliveries({ agent, sends }: Props) {
  const pages = useDeliveries(agent);
  const items = pages.data?.pages.flatMap((page) => page.items) ?? [];
  const latest = new Set(latestOfEach(items));
  const table = useRef<HTMLTableElement>(null);
  const sentAgain = useRef<Delivery | null>(null);

  // With a newer attempt the button of the one before goes away: the focus goes to the one that there is now.
  useLayoutEffect(() => {
    const before = sentAgain.current;
    const newest = items.find(({ request }) => request === before?.request);
    if (before === null || newest === undefined || newest.attempt === before.attempt) return;
    sentAgain.current = null;
    if (document.activeElement !== document.body) return;
    table.current?.querySelector<HTMLElement>(`[data-about="${newest.request}"]`)?.focus();
  }, [items]);

  return (
    <Stack gap="sm">
      <div>
        <Title order={2} size="h4">
          {text.deliveries}
        </Title>
        <Text size="sm" c="dimmed">
          {text.deliveriesHelp}
        </Text>
      </div>
      {pages.isPending ? (
        <Loading />
      ) : pages.data === undefined ? (
        <Failure error={pages.error} retry={() => void pages.refetch()} />
      ) : (
        <>
          <AsOf found={pages} />
          {items.length === 0 ? (
            <Empty title={text.noDeliveries} />
          ) : (
            <Table ref={table} className={classes.table} verticalSpacing={6} aria-label={text.deliveries}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th visibleFrom="sm">{text.time}</Table.Th>
                  <Table.Th className={classes.word}>{text.request}</Table.Th>
                  <Table.Th visibleFrom="sm">{text.attempt}</Table.Th>
                  <Table.Th>{text.result}</Table.Th>
                  <Table.Th visibleFrom="sm">{text.took}</Table.Th>
                  <Table.Td />
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {items.map((item) => (
                  <Row
                    key={`${item.request} ${item.attempt} ${item.at}`}
                    agent={agent}
                    item={item}
                    isLatest={latest.has(item)}
                    sends={sends}
                    onSent={() => {
                      sentAgain.current = item;
                      void pages.refetch();
                    }}
                  />
                ))}
              </Table.Tbody>
            </Table>
          )}
          {pages.hasNextPage && (
            <Group>
              <Button
                variant="default"
                loading={pages.isFetchingNextPage}
                onClick={() => void pages.fetchNextPage()}
              >
                {text.older}
              </Button>
            </Group>
          )}
        </>
      )}
    </Stack>
  );
}

function latestOfEach(items: Delivery[]): Delivery[] {
  const seen = new Set<string>();
  return items.filter(({ request }) => !seen.has(request) && seen.add(request));
}

interface RowProps {
  agent: string;
  item: Delivery;
  isLatest: boolean;
  sends: boolean;
  onSent: () => void;
}

function Row({ agent, item, isLatest, sends, onSent }: RowProps) {
  const [busy, setBusy] = useState(false);
  const short = item.request.slice(0, SHOWN_OF_ID);

  const sendAgain = async () => {
    setBusy(true);
    try {
      const path = { id: agent, request_id: item.request };
      await answer(api.POST("/api/agents/{id}/webhook/deliveries/{request_id}/redeliver", { params: { path } }));
      say(text.onItsWay);
      onSent();
    } catch (error) {
      complain(error);
    } finally {
      setBusy(false);
    }
  };

  return (
    <Table.Tr>
      <Table.Td visibleFrom="sm">
        <Time at={item.at} size="sm" />
      </Table.Td>
      <Table.Td className={classes.word}>
        <Anchor component={Link} href={`/requests/${item.request}`} size="sm" ff="monospace" title={item.request}>
          {short}
        </Anchor>
        <Time at={item.at} size="xs" c="dimmed" display="block" hiddenFrom="sm" />
      </Table.Td>
      <Table.Td visibleFrom="sm">{item.attempt}</Table.Td>
      <Table.Td>
        <Outcome of={item} below={isLatest && sends && item.next_at !== null && <NextAttempt at={item.next_at} />}>
          {item.error === null && item.status}
        </Outcome>
      </Table.Td>
      <Table.Td visibleFrom="sm">{milliseconds(item.duration_ms)}</Table.Td>
      <Table.Td ta="end">
        {isLatest && (
          <Button
            variant="default"
            size="xs"
            data-about={item.request}
            aria-label={text.sendAgainAbout(short)}
            onClick={() => void sendAgain()}
            loading={busy}
            disabled={!sends}
          >
            {text.sendAgain}
          </Button>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function NextAttempt({ at }: { at: string }) {
  const seconds = (Date.parse(at) - useNow()) / 1000;
  return (
    <Text size="xs" c="dimmed" title={at}>
      {text.next(seconds <= 0 ? text.anyMoment : strings.time.in(duration(seconds)))}
    </Text>
  );
}
