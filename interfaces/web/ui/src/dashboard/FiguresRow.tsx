import { Anchor, Skeleton, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "wouter";

import { duration } from "../lib/time";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import classes from "./figures.module.css";
import type { Figures } from "./figures";

const MINUTE = 60_000;
const DAY = 86_400_000;

/** How many, how old, how fast, at one look. */
export function FiguresRow({ figures }: { figures: Figures | undefined }) {
  const words = strings.dashboard;
  const speed = figures?.time_to_answer_seconds;
  const measured = speed === undefined || speed.of_latest === 0 ? undefined : words.ofLatest(speed.of_latest);
  return (
    <dl className={classes.figures} aria-label={words.figures}>
      <Figure label={words.openNow} shown={figures}>
        <Anchor component={Link} href="/dashboard?status=Requested" inherit c="inherit">
          {figures?.by_status.Requested ?? 0}
        </Anchor>
      </Figure>
      <Figure label={words.oldest} shown={figures}>
        {figures?.oldest_open == null ? (
          words.none
        ) : (
          <Anchor component={Link} href={`/requests/${figures.oldest_open.id}`} inherit c="inherit">
            <Time at={figures.oldest_open.created_at} />
          </Anchor>
        )}
      </Figure>
      <Figure label={words.olderThanDay} shown={figures}>
        <Older count={figures?.open_older_than_a_day ?? 0} days={1} />
      </Figure>
      <Figure label={words.olderThanWeek} shown={figures}>
        <Older count={figures?.open_older_than_a_week ?? 0} days={7} />
      </Figure>
      <Figure
        label={words.unacknowledged}
        shown={figures}
        hint={figures && words.unacknowledgedHint(duration(figures.acknowledge_grace_seconds))}
      >
        {figures && <Unacknowledged figures={figures} />}
      </Figure>
      <Figure label={words.half} shown={figures} hint={measured}>
        {inWords(speed?.p50)}
      </Figure>
      <Figure label={words.most} shown={figures} hint={measured}>
        {inWords(speed?.p90)}
      </Figure>
    </dl>
  );
}

interface FigureProps {
  label: string;
  shown: unknown;
  hint?: string | undefined;
  children: ReactNode;
}

function Figure({ label, shown, hint, children }: FigureProps) {
  return (
    <div className={classes.figure} title={hint}>
      <Text component="dt" size="xs" c="dimmed">
        {label}
      </Text>
      <Text component="dd" className={classes.number}>
        {shown === undefined ? <Skeleton height={24} width={56} /> : children}
      </Text>
    </div>
  );
}

function Older({ count, days }: { count: number; days: number }) {
  if (count === 0) return 0;
  const before = new Date(Math.floor(Date.now() / MINUTE) * MINUTE - days * DAY).toISOString();
  return (
    <Anchor
      component={Link}
      href={`/dashboard?status=Requested&sort=created_at&created_to=${encodeURIComponent(before)}`}
      inherit
      c="inherit"
    >
      {count}
    </Anchor>
  );
}

function Unacknowledged({ figures }: { figures: Figures }) {
  if (figures.unacknowledged === 0) return 0;
  const now = Math.floor(Date.now() / MINUTE) * MINUTE;
  const within = new URLSearchParams({
    acknowledged: "false",
    closed_from: new Date(now - 7 * DAY).toISOString(),
    closed_to: new Date(now + MINUTE - figures.acknowledge_grace_seconds * 1_000).toISOString(),
  });
  return (
    <Anchor component={Link} href={`/dashboard?${within.toString()}`} inherit c="var(--mantine-color-error)">
      {figures.unacknowledged.toLocaleString()}
    </Anchor>
  );
}

function inWords(seconds: number | null | undefined): string {
  if (seconds == null) return strings.dashboard.notYet;
  return seconds < 1 ? strings.dashboard.underASecond : duration(seconds);
}
