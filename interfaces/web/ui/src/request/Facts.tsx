// The line below the title: status, urgency, who has it, how long it lasts.

import { Button } from "@mantine/core";
import {
  CheckCircleIcon,
  ClockIcon,
  CircleSlashIcon,
  FlameIcon,
  IssueOpenedIcon,
  LockIcon,
  PeopleIcon,
  PersonIcon,
  XCircleIcon,
  type Icon,
} from "@primer/octicons-react";
import type { ReactNode } from "react";

import type { RequestView } from "../api/client";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import { wake } from "./commands";
import classes from "./request.module.css";
import type { Rights } from "./rights";
import { useAct } from "./useAct";
import { useWho, type Who } from "./who";

const URGENT = 20;

interface Props {
  id: string;
  request: RequestView;
  rights: Rights | null;
}

export function Facts({ id, request, rights }: Props) {
  const who = useWho();
  const open = request.status === "Requested";
  const { icon: StatusIcon, kind, label } = statusOf(request);
  return (
    <ul className={classes.facts}>
      <Fact className={classes[kind]}>
        <StatusIcon size={14} /> {label}
      </Fact>
      {request.priority <= URGENT && (
        <Fact className={classes.urgent}>
          <FlameIcon size={14} /> {strings.request.urgent}
        </Fact>
      )}
      <Fact title={strings.request.priorityHint}>{strings.request.priority(request.priority)}</Fact>
      {request.secret && (
        <Fact>
          <LockIcon size={14} /> {strings.request.secret}
        </Fact>
      )}
      <Fact>
        {request.assigned_to === null ? <PeopleIcon size={14} /> : <PersonIcon size={14} />} {holder(request, who)}
      </Fact>
      {open && (
        <Fact>
          <ClockIcon size={14} />{" "}
          {request.expires_at === null ? strings.request.noDeadline : <Time at={request.expires_at} as="left" />}
        </Fact>
      )}
      <Fact>
        {strings.request.askedAt} <Time at={request.created_at} />
      </Fact>
      {open && request.snoozed_until !== null && (
        <Snoozed id={id} request={request} until={request.snoozed_until} mayWake={rights?.snooze === true} />
      )}
    </ul>
  );
}

function Fact({ children, className, title }: { children: ReactNode; className?: string; title?: string }) {
  return (
    <li className={className} title={title}>
      {children}
    </li>
  );
}

interface SnoozedProps {
  id: string;
  request: RequestView;
  until: string;
  mayWake: boolean;
}

function Snoozed({ id, request, until, mayWake }: SnoozedProps) {
  const { act, sending } = useAct(id);
  if (Date.parse(until) <= Date.now()) return null;
  return (
    <Fact>
      {strings.request.snoozed} <Time at={until} as="clock" />
      {mayWake && (
        <Button
          variant="subtle"
          size="compact-xs"
          ml={4}
          loading={sending}
          onClick={() => void act(() => wake(request.id), strings.act.woken)}
        >
          {strings.request.wake}
        </Button>
      )}
    </Fact>
  );
}

function holder(request: RequestView, who: Who): string {
  const said = strings.request;
  if (request.assigned_to !== null) {
    const person = who.isMe(request.assigned_to) ? said.withMe : said.with(who.target(request.assigned_to));
    return request.list === null ? person : `${person}, ${said.from(who.target(request.list))}`;
  }
  return request.list === null ? said.nobody : said.shared(who.target(request.list));
}

interface StatusLook {
  icon: Icon;
  kind: "open" | "good" | "bad" | "quiet";
  label: string;
}

export function statusOf(request: RequestView): StatusLook {
  switch (request.status) {
    case "Requested":
      return { icon: IssueOpenedIcon, kind: "open", label: strings.status.open };
    case "Cancelled":
      return { icon: CircleSlashIcon, kind: "quiet", label: strings.status.cancelled };
    case "Expired":
      return { icon: ClockIcon, kind: "quiet", label: strings.status.expired };
    case "Responded": {
      const outcome = request.response?.outcome ?? "answered";
      const rejected = outcome === "rejected";
      return { icon: rejected ? XCircleIcon : CheckCircleIcon, kind: rejected ? "bad" : "good", label: strings.status[outcome] };
    }
  }
}
