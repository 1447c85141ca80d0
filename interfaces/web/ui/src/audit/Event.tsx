import { Anchor, Text, UnstyledButton } from "@mantine/core";
import { ChevronDownIcon, ChevronRightIcon } from "@primer/octicons-react";
import { useId, useState } from "react";
import { Link } from "wouter";

import { useNames } from "../api/names";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import classes from "./audit.module.css";
import { EventIcon } from "./EventIcon";
import type { AuditItem } from "./events";
import { Facts } from "./Facts";
import { sayActor, sayEvent } from "./words";

const words = strings.audit;

/** One event in a line; all that is known of it on demand. `called` is what its agent called the request. */
export function Event({ event, called }: { event: AuditItem; called: string | undefined }) {
  const names = useNames();
  const [open, setOpen] = useState(false);
  const id = useId();
  const { did, more } = sayEvent(event, names);
  return (
    <li className={classes.event}>
      <div className={classes.line}>
        <UnstyledButton
          className={classes.expand}
          aria-expanded={open}
          aria-controls={id}
          aria-label={words.details(event.position)}
          onClick={() => setOpen(!open)}
        >
          {open ? <ChevronDownIcon /> : <ChevronRightIcon />}
        </UnstyledButton>
        <EventIcon type={event.type} />
        <Text size="sm" className={classes.said}>
          <b>
            <bdi>{sayActor(event.actor, names)}</bdi>
          </b>{" "}
          {did}{" "}
          {event.request_id !== null && (
            <Anchor component={Link} href={`/requests/${event.request_id}`} inherit>
              <bdi>{called ?? `${words.request} ${event.request_id.slice(0, 8)}`}</bdi>
            </Anchor>
          )}{" "}
          {more !== undefined && more !== "" && <bdi>{more}</bdi>}
        </Text>
        <Text size="xs" c="dimmed" className={classes.when}>
          <Time at={event.at} as="clock" /> <span className={classes.position}>{words.number(event.position)}</span>
        </Text>
      </div>
      <div id={id}>{open && <Facts event={event} />}</div>
    </li>
  );
}
