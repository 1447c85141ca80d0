// What this person may do with the request besides answering it.

import { ActionIcon, Button, Menu } from "@mantine/core";
import {
  CircleSlashIcon,
  ClockIcon,
  KebabHorizontalIcon,
  LinkIcon,
  PersonAddIcon,
  ReplyIcon,
  TagIcon,
  PersonIcon,
} from "@primer/octicons-react";
import { useEffect, useRef, useState, type ReactNode } from "react";

import type { RequestView } from "../api/client";
import { complain } from "../lib/notify";
import { useShortcuts } from "../lib/shortcuts";
import { strings } from "../strings";
import { CancelDialog, ClaimDialog, ReleaseDialog } from "./NoteDialogs";
import { claim } from "./commands";
import { DelegateDialog, ReassignDialog } from "./MoveDialogs";
import classes from "./request.module.css";
import type { Rights } from "./rights";
import { SnoozeDialog } from "./SnoozeDialog";
import { useAct } from "./useAct";

type Action = "claim" | "release" | "delegate" | "reassign" | "snooze" | "cancel";

const DIALOGS = {
  claim: ClaimDialog,
  release: ReleaseDialog,
  delegate: DelegateDialog,
  reassign: ReassignDialog,
  snooze: SnoozeDialog,
  cancel: CancelDialog,
};

interface Props {
  id: string;
  request: RequestView;
  rights: Rights;
  copyLink: () => void;
}

export function Actions({ id, request, rights, copyLink }: Props) {
  const [chosen, setChosen] = useState<Action | null>(null);
  const menu = useRef<HTMLButtonElement>(null);
  const { act, sending, error } = useAct(id);
  const take = () => void act(() => claim(request.id), strings.act.claimed);
  useShortcuts(rights.claim ? { c: take } : {});
  useEffect(() => {
    if (error !== null) complain(error);
  }, [error]);

  const items: [Action, ReactNode, string][] = [
    ["claim", <PersonIcon />, strings.act.claimNoted],
    ["delegate", <PersonAddIcon />, strings.act.delegate],
    ["release", <ReplyIcon />, strings.act.release],
    ["snooze", <ClockIcon />, strings.act.snooze],
    ["reassign", <TagIcon />, strings.act.reassign],
    ["cancel", <CircleSlashIcon />, strings.act.cancel],
  ];
  const allowed = items.filter(([action]) => rights[action]);
  const Dialog = chosen === null ? null : DIALOGS[chosen];
  const close = () => {
    setChosen(null);
    menu.current?.focus();
  };
  return (
    <>
      {rights.claim && (
        <Button size="xs" className={classes.act} loading={sending} onClick={take}>
          {strings.act.claim}
        </Button>
      )}
      <Menu position="bottom-end" width={220} returnFocus>
        <Menu.Target>
          <ActionIcon
            ref={menu}
            variant="subtle"
            color="gray"
            className={classes.icon}
            aria-label={strings.request.actions}
          >
            <KebabHorizontalIcon />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {allowed.map(([action, icon, label]) => (
            <Menu.Item key={action} leftSection={icon} onClick={() => setChosen(action)}>
              {label}
            </Menu.Item>
          ))}
          <Menu.Item leftSection={<LinkIcon />} onClick={copyLink}>
            {strings.request.copyLink}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {Dialog !== null && <Dialog id={id} request={request} onClose={close} />}
    </>
  );
}
