// How things stand, and all requests. The filters live in the address: shared by copying it.

import { Button, Title } from "@mantine/core";
import { SyncIcon } from "@primer/octicons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";

import { useAgents, useLists, usePeople, type Named } from "../api/names";
import { useSignedIn } from "../api/session";
import { useQueryOf } from "../lib/query";
import { Empty, Failure, Loading } from "../lib/State";
import { usePageTitle } from "../shell/title";
import { strings } from "../strings";
import { BulkBar } from "./BulkBar";
import { ChartsSection } from "./ChartsSection";
import classes from "./dashboard.module.css";
import { FIGURES, useFigures } from "./figures";
import { FiguresRow } from "./FiguresRow";
import { FilterBar } from "./FilterBar";
import { isNarrowed, sortOf } from "./filters";
import { problemsIn } from "../lib/problems";
import type { Choices } from "./MoreFilters";
import { usePage } from "./page";
import { Paging } from "./Paging";
import { RequestTable } from "./RequestTable";
import { useSelection } from "./selection";

const words = strings.dashboard;

export default function DashboardPage({ openId }: { openId: string | null }) {
  usePageTitle(strings.shell.dashboard);
  const figures = useFigures();
  return (
    <div className={classes.page}>
      <Title order={1} size="h3">
        {strings.shell.dashboard}
      </Title>
      {figures.isError ? (
        <Failure error={figures.error} retry={() => void figures.refetch()} />
      ) : (
        <>
          <FiguresRow figures={figures.data} />
          <ChartsSection figures={figures.data} />
        </>
      )}
      <Requests openId={openId} agents={Object.keys(figures.data?.by_agent ?? {})} />
    </div>
  );
}

function Requests({ openId, agents }: { openId: string | null; agents: string[] }) {
  const [query, setQuery] = useQueryOf("/dashboard");
  const { administers } = useSignedIn();
  const queries = useQueryClient();
  const { page, items, newOnes, readAgain } = usePage(query);
  const selection = useSelection(filtersOf(query));
  const problems = problemsIn(page.error);
  const lists = items.flatMap(({ list }) => list ?? []);
  const choices = useChoices(agents, lists);
  const done = (position: number) => {
    void readAgain(position);
    void queries.invalidateQueries({ queryKey: FIGURES });
  };
  return (
    <section className={classes.requests}>
      <Title order={2} size="sm">
        {words.requests}
      </Title>
      <FilterBar query={query} setQuery={setQuery} problems={problems ?? {}} choices={choices} />
      {administers && (
        <BulkBar
          query={query}
          selection={selection}
          more={page.data?.next_cursor != null || query.has("cursor")}
          onDone={done}
        />
      )}
      <div role="status" className={classes.live}>
        {newOnes > 0 && (
          <Button
            variant="default"
            size="xs"
            leftSection={<SyncIcon />}
            onClick={() => void readAgain()}
          >
            {words.newOnes(newOnes)}
          </Button>
        )}
      </div>
      {page.isPending && <Loading />}
      {page.isError && (problems === null || "cursor" in problems) && (
        <Failure
          error={page.error}
          // Whatever is wrong with a place in the list, its beginning is there.
          retry={() => (query.has("cursor") ? setQuery({ cursor: null, page: null }) : void page.refetch())}
        />
      )}
      {page.isSuccess && items.length === 0 && <Nothing narrowed={isNarrowed(query) || query.has("cursor")} />}
      {!page.isError && items.length > 0 && (
        <RequestTable
          items={items}
          openId={openId}
          sort={sortOf(query)}
          onSort={(sort) => setQuery({ sort, cursor: null, page: null })}
          selection={administers ? selection : null}
        />
      )}
      {!page.isError && <Paging query={query} setQuery={setQuery} next={page.data?.next_cursor ?? null} />}
    </section>
  );
}

function Nothing({ narrowed }: { narrowed: boolean }) {
  return narrowed ? (
    <Empty title={words.noneMatch}>{words.noneMatchHint}</Empty>
  ) : (
    <Empty title={words.noneYet}>{words.noneYetHint}</Empty>
  );
}

/** A selection is one of these filters; the page and the order do not matter to it. */
function filtersOf(query: URLSearchParams): string {
  const filters = new URLSearchParams(query);
  for (const name of ["cursor", "page", "sort", "size"]) filters.delete(name);
  return filters.toString();
}

/** The directory; for whoever may not read it, what the dashboard shows. */
function useChoices(agentIds: string[], listIds: string[]): Choices {
  const agents = useAgents();
  const lists = useLists();
  const people = usePeople();
  const seen = [...new Set(listIds)].sort().join("\n");
  const asking = [...agentIds].sort().join("\n");
  return useMemo(
    () => ({
      people,
      agents: agents.length > 0 ? agents : named(asking),
      lists: lists.length > 0 ? lists : named(seen),
    }),
    [people, agents, lists, asking, seen],
  );
}

function named(ids: string): Named[] {
  return ids === "" ? [] : ids.split("\n").map((id) => ({ id, name: id }));
}
