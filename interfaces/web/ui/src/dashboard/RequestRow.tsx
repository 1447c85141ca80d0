import { Checkbox, Text } from "@mantine/core";
import { LockIcon, PeopleIcon } from "@primer/octicons-react";
import { Link } from "wouter";

import type { RequestItem } from "../api/client";
import { useNames } from "../api/names";
import { Time } from "../lib/Time";
import { plainText } from "../lib/plain-text";
import { strings } from "../strings";
import classes from "./table.module.css";
import { canBeChosen } from "./selection";
import { Status } from "./Status";

const words = strings.dashboard;

interface Props {
  item: RequestItem;
  open: boolean;
  chosen: boolean;
  onChoose: ((range: boolean) => void) | null;
}

export function RequestRow({ item, open, chosen, onChoose }: Props) {
  const names = useNames();
  const what = item.summary === null ? words.erased : plainText(item.summary);
  return (
    <tr role="row" className={classes.row} data-chosen={chosen || undefined} data-open={open || undefined}>
      {onChoose !== null && (
        <td role="cell" className={classes.check}>
          <Checkbox
            size="xs"
            aria-label={words.selectRow(what)}
            checked={chosen}
            disabled={!chosen && !canBeChosen(item)}
            onChange={({ nativeEvent }) => onChoose((nativeEvent as unknown as MouseEvent).shiftKey)}
          />
        </td>
      )}
      <td role="cell" className={classes.what}>
        <Link href={`/requests/${item.id}`} className={classes.link} aria-current={open || undefined}>
          <bdi>{what}</bdi>
        </Link>
        {item.secret && (
          <span className={classes.secret} title={words.secret}>
            <LockIcon size={14} aria-label={words.secret} />
          </span>
        )}
      </td>
      <td role="cell">
        <Status of={item} />
      </td>
      <td role="cell">{names.type(item.request_type)}</td>
      <td role="cell">{names.agent(item.agent)}</td>
      <td role="cell">
        <Assigned item={item} />
      </td>
      <td role="cell">
        <span className={classes.onlyInCards}>{words.priority} </span>
        {item.priority}
      </td>
      <td role="cell">
        <Time at={item.created_at} />
      </td>
      <td role="cell">
        <Ends item={item} />
      </td>
    </tr>
  );
}

function Assigned({ item }: { item: RequestItem }) {
  const names = useNames();
  if (item.assigned_to !== null) return names.person(item.assigned_to);
  if (item.list === null) return <Text inherit c="dimmed">{words.nobody}</Text>;
  return (
    <span className={classes.shared} title={words.inList(names.list(item.list))}>
      <PeopleIcon size={14} aria-label={words.list} /> {names.list(item.list)}
    </span>
  );
}

function Ends({ item }: { item: RequestItem }) {
  if (item.closed_at !== null) {
    return (
      <Text inherit span c="dimmed">
        {words.ended} <Time at={item.closed_at} />
      </Text>
    );
  }
  if (item.expires_at !== null) return <Time at={item.expires_at} as="left" />;
  return null;
}
