// The inbox: what waits for this person, for anybody of their lists, and everything that they may answer.

import { Button, Center, Code, Group, Skeleton, Stack, Title } from "@mantine/core";
import { useEffect } from "react";
import { Link } from "wouter";

import { useSignedIn } from "../api/session";
import { Empty, Failure } from "../lib/State";
import { NotificationOffer } from "../notifications/NotificationOffer";
import type { Scope } from "../shell/Pages";
import { useCounts } from "../shell/pending";
import { usePageTitle } from "../shell/title";
import { strings } from "../strings";
import classes from "./InboxPage.module.css";
import { InboxList } from "./InboxList";
import { rememberOpened } from "./opened";
import { useInbox } from "./useInbox";

const SCOPES: Scope[] = ["mine", "shared", "all"];

export function InboxPage({ scope, openId }: { scope: Scope; openId: string | null }) {
  const { me } = useSignedIn();
  usePageTitle(strings.inbox.title);
  useEffect(() => {
    if (openId !== null) rememberOpened(me.id, openId);
  }, [me.id, openId]);

  return (
    <section className={classes.page} aria-labelledby="inbox-title">
      <header className={classes.head}>
        <Title order={1} id="inbox-title" className={classes.title}>
          {strings.inbox.title}
        </Title>
        <Scopes scope={scope} />
      </header>
      <NotificationOffer />
      {/* Each scope is a list of its own: nothing of one is left when another is shown. */}
      <Contents key={scope} scope={scope} openId={openId} />
    </section>
  );
}

function Scopes({ scope }: { scope: Scope }) {
  const counts = useCounts();
  return (
    <nav aria-label={strings.inbox.scopes} className={classes.scopes}>
      {SCOPES.map((each) => (
        <Link
          key={each}
          href={each === "mine" ? "/inbox" : `/inbox/${each}`}
          className={classes.scope}
          aria-current={each === scope ? "page" : undefined}
        >
          {strings.inbox[each]}
          {counts !== null && <span className={classes.count}>{counts[each]}</span>}
        </Link>
      ))}
    </nav>
  );
}

function Contents({ scope, openId }: { scope: Scope; openId: string | null }) {
  const inbox = useInbox(scope);
  if (inbox.error !== null) return <Failure error={inbox.error} retry={inbox.retry} />;
  if (inbox.loading) return <Placeholder />;
  if (inbox.rows.length === 0) return <Nothing scope={scope} />;
  return <InboxList scope={scope} rows={inbox.rows} more={inbox.more} openId={openId} />;
}

function Placeholder() {
  return (
    <div role="status" aria-label={strings.shell.loading}>
      {Array.from({ length: 8 }, (_, index) => (
        <Group key={index} className={classes.placeholder} wrap="nowrap">
          <Stack gap={8} flex={1}>
            <Skeleton height={12} width={`${75 - ((index * 17) % 40)}%`} />
            <Skeleton height={9} width={`${40 - ((index * 7) % 15)}%`} />
          </Stack>
        </Group>
      ))}
    </div>
  );
}

function Nothing({ scope }: { scope: Scope }) {
  const { mayAct } = useSignedIn();
  const shared = useCounts()?.shared ?? 0;
  if (!mayAct) return <Empty title={strings.inbox.auditor}>{strings.inbox.auditorHow}</Empty>;
  return (
    <Empty title={strings.inbox.empty[scope]}>
      {scope === "mine" && shared > 0 && (
        <Center my="sm">
          <Button component={Link} href="/inbox/shared" variant="default">
            {strings.inbox.toShared(shared)}
          </Button>
        </Center>
      )}
      {strings.inbox.emptyHow[scope]}
      <Code block mt="sm" fz="sm">
        {strings.inbox.emptyCommand}
      </Code>
    </Empty>
  );
}
