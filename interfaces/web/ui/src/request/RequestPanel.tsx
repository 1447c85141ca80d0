// Everything about one request: what is asked, the answer, who has it and why, what happened and what happens next.

import { Anchor } from "@mantine/core";
import { useEffect } from "react";
import { Link } from "wouter";

import { Refused } from "../api/client";
import { Empty, Failure, Loading } from "../lib/State";
import { useShortcuts } from "../lib/shortcuts";
import { usePageTitle } from "../shell/title";
import { strings } from "../strings";
import { useFollow, useRequest } from "./data";
import { Opened } from "./Opened";
import classes from "./request.module.css";

interface Props {
  /** Its id, or its unique_id. */
  id: string;
  onClose: () => void;
}

export default function RequestPanel({ id, onClose }: Props) {
  const { data: request, error, refetch } = useRequest(id);
  useFollow(id, request);
  useShortcuts({
    Escape: (event) => {
      const inMenu = event.target instanceof Element && event.target.closest("[role=menu]") !== null;
      if (!inMenu) onClose();
    },
  });
  useReturnOfFocus(request?.id ?? id);

  if (request !== undefined) return <Opened id={id} request={request} onClose={onClose} />;
  return (
    <article className={classes.panel} aria-label={strings.request.panel}>
      {error === null ? <Loading /> : <NotShown error={error} retry={() => void refetch()} />}
    </article>
  );
}

function NotShown({ error, retry }: { error: unknown; retry: () => void }) {
  const said = strings.request;
  const titles: Record<number, string> = { 403: said.forbidden, 404: said.missing, 409: said.unclear };
  const title = error instanceof Refused ? titles[error.status] : undefined;
  usePageTitle(title ?? said.panel);
  if (!(error instanceof Refused) || title === undefined) return <Failure error={error} retry={retry} />;
  return (
    <div role="alert">
      <Empty title={title}>
        <p>{error.status === 404 ? said.missingHow : error.detail}</p>
        <Anchor component={Link} href="/inbox">
          {said.toInbox}
        </Anchor>
      </Empty>
    </div>
  );
}

/** Whoever closes the request goes on in the list where they were. */
function useReturnOfFocus(id: string): void {
  useEffect(
    () => () => {
      requestAnimationFrame(() => {
        if (document.activeElement !== document.body) return;
        document.querySelector<HTMLElement>(`a[href$="/requests/${CSS.escape(id)}"]`)?.focus();
      });
    },
    [id],
  );
}
