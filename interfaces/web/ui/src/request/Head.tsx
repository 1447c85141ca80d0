// What stays in sight while one reads: what it is, who has it, how long it lasts, and what can be done with it.

import { ActionIcon, Title, Tooltip } from "@mantine/core";
import { LinkIcon, XIcon } from "@primer/octicons-react";
import type { RefObject } from "react";

import type { RequestView } from "../api/client";
import { strings } from "../strings";
import { copyAndSay } from "../text/copy";
import { Marked } from "../text/Marked";
import { Actions } from "./Actions";
import { Facts } from "./Facts";
import classes from "./request.module.css";
import type { Rights } from "./rights";

interface Props {
  id: string;
  request: RequestView;
  rights: Rights | null;
  title: string;
  heading: RefObject<HTMLHeadingElement | null>;
  onClose: () => void;
}

export function Head({ id, request, rights, title, heading, onClose }: Props) {
  const copyLink = () =>
    void copyAndSay(`${location.origin}/requests/${request.id}`, strings.request.linkCopied);
  return (
    <header className={classes.head}>
      <div className={classes.top}>
        <Title order={1} ref={heading} tabIndex={-1} className={classes.title}>
          <Marked text={title} />
        </Title>
        <div className={classes.buttons}>
          {rights !== null && <Actions id={id} request={request} rights={rights} copyLink={copyLink} />}
          <Tooltip label={strings.request.copyLink}>
            <ActionIcon
              variant="subtle"
              color="gray"
              className={`${classes.icon} ${classes.wide}`}
              aria-label={strings.request.copyLink}
              onClick={copyLink}
            >
              <LinkIcon />
            </ActionIcon>
          </Tooltip>
          <Tooltip label={`${strings.request.close} (Esc)`}>
            <ActionIcon
              variant="subtle"
              color="gray"
              className={classes.icon}
              aria-label={strings.request.close}
              onClick={onClose}
            >
              <XIcon />
            </ActionIcon>
          </Tooltip>
        </div>
      </div>
      <Facts id={id} request={request} rights={rights} />
    </header>
  );
}
