// One open request, as a line of the inbox: what is asked, by whom, since when, and until when.

import { VisuallyHidden } from "@mantine/core";
import { AlertFillIcon, ClockIcon, LockIcon } from "@primer/octicons-react";
import { memo } from "react";
import { Link } from "wouter";

import type { RequestItem } from "../api/client";
import type { Names } from "../api/names";
import { plainText } from "../lib/plain-text";
import { Time } from "../lib/Time";
import { useNow } from "../lib/time";
import { strings } from "../strings";
import classes from "./InboxRow.module.css";

export const URGENT = 20;
const SOON_MS = 10 * 60_000;

interface Props {
  item: RequestItem;
  names: Names;
  me: string;
  unread: boolean;
  open: boolean;
  selected: boolean;
  /** By Tab: one row is, the keys go on from there. */
  reachable: boolean;
  onFocus: (id: string) => void;
}

export const InboxRow = memo(function InboxRow({ item, names, me, open, unread, selected, reachable, onFocus }: Props) {
  const summary = item.summary === null ? strings.inbox.erased : plainText(item.summary);
  return (
    <Link
      href={`/requests/${item.id}`}
      className={classes.row}
      data-id={item.id}
      data-unread={unread || undefined}
      data-selected={selected || undefined}
      aria-current={open ? "true" : undefined}
      tabIndex={reachable ? 0 : -1}
      onFocus={() => onFocus(item.id)}
    >
      <span className={classes.mark}>{unread && <VisuallyHidden>{strings.inbox.unread}. </VisuallyHidden>}</span>
      <span className={classes.summary}>
        {item.priority <= URGENT && (
          <span className={classes.urgent}>
            <AlertFillIcon size={12} /> {strings.inbox.urgent}{" "}
          </span>
        )}
        <bdi>{summary}</bdi>
      </span>
      <span className={classes.about}>
        {item.secret && (
          <span className={classes.secret}>
            <LockIcon size={12} /> <span className={classes.word}>{strings.inbox.secret}</span>
          </span>
        )}
        <span className={classes.type}>{names.type(item.request_type)}</span>
        <span>{names.agent(item.agent)}</span>
        <For item={item} names={names} me={me} />
        <Time at={item.created_at} />
      </span>
      {item.expires_at !== null && <Left at={item.expires_at} />}
    </Link>
  );
});

/** Whose it is, where it is not simply one's own. */
function For({ item, names, me }: { item: RequestItem; names: Names; me: string }) {
  if (item.assigned_to === me) return item.list === null ? null : <span>{names.list(item.list)}</span>;
  if (item.assigned_to !== null) return <span>{strings.inbox.forPerson(names.person(item.assigned_to))}</span>;
  return <span>{item.list === null ? strings.inbox.unassigned : strings.inbox.inList(names.list(item.list))}</span>;
}

function Left({ at }: { at: string }) {
  const soon = Date.parse(at) - useNow() < SOON_MS;
  return (
    <span className={classes.left} data-soon={soon || undefined}>
      {soon && <ClockIcon size={12} />} <Time at={at} as="left" />
    </span>
  );
}
