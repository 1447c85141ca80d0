// The full history of everything, newest first, and whether it is still what was written.

import { Button, Title } from "@mantine/core";
import { SyncIcon } from "@primer/octicons-react";
import { useMemo } from "react";

import { useSignedIn } from "../api/session";
import { problemsIn } from "../lib/problems";
import { useQueryOf } from "../lib/query";
import { Empty, Failure, Loading } from "../lib/State";
import { usePageTitle } from "../shell/title";
import { strings } from "../strings";
import classes from "./audit.module.css";
import { AuditFilters } from "./AuditFilters";
import { Event } from "./Event";
import { useEvents, type AuditItem } from "./events";
import { isNarrowed } from "./filters";
import { Integrity } from "./Integrity";

const words = strings.audit;

export default function AuditPage() {
  const { seesEverything } = useSignedIn();
  usePageTitle(strings.shell.audit);
  return (
    <div className={classes.page}>
      <Title order={1} size="h3">
        {strings.shell.audit}
      </Title>
      {seesEverything ? (
        <>
          <Integrity />
          <Events />
        </>
      ) : (
        <Empty title={words.notAllowed}>{words.notAllowedHint}</Empty>
      )}
    </div>
  );
}

function Events() {
  const [query, setQuery] = useQueryOf("/audit");
  const { pages, items, newOnes, showNew } = useEvents(query);
  const calledBy = useCalled(items);
  const problems = problemsIn(pages.error);
  return (
    <section className={classes.events}>
      <Title order={2} size="sm">
        {words.events}
      </Title>
      <AuditFilters query={query} setQuery={setQuery} problems={problems ?? {}} />
      <div role="status" className={classes.live}>
        {newOnes !== null && (
          <Button variant="default" size="xs" leftSection={<SyncIcon />} onClick={() => void showNew()}>
            {words.newOnes(newOnes)}
          </Button>
        )}
      </div>
      {pages.isPending && <Loading />}
      {pages.isError && problems === null && <Failure error={pages.error} retry={() => void pages.refetch()} />}
      {pages.isSuccess && items.length === 0 && (
        <Empty title={words.noneMatch}>{isNarrowed(query) && words.noneMatchHint}</Empty>
      )}
      {items.length > 0 && problems === null && (
        <>
          <ol className={classes.list} aria-label={words.events}>
            {items.map((item) => (
              <Event key={item.position} event={item} called={calledBy.get(item.aggregate_id)} />
            ))}
          </ol>
          {pages.hasNextPage ? (
            <Button
              variant="default"
              className={classes.older}
              loading={pages.isFetchingNextPage}
              onClick={() => void pages.fetchNextPage()}
            >
              {words.older}
            </Button>
          ) : (
            <p className={classes.end}>{words.end}</p>
          )}
        </>
      )}
    </section>
  );
}

/** What agents called their requests, where the event that says so is among those read. */
function useCalled(items: AuditItem[]): Map<string, string> {
  return useMemo(() => {
    const asked = items.filter(({ type }) => type === "Requested");
    return new Map(asked.map(({ aggregate_id, facts }) => [aggregate_id, String(facts.unique_id)]));
  }, [items.length, items[0]?.position]); // eslint-disable-line react-hooks/exhaustive-deps
}
