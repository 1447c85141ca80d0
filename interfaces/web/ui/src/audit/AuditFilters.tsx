import { Button, Menu, MultiSelect, Select, TextInput } from "@mantine/core";
import { DownloadIcon, FilterIcon, SearchIcon } from "@primer/octicons-react";
import { useId, useState } from "react";

import { useAgents, usePeople, type Named } from "../api/names";
import { DraftInput } from "../lib/DraftInput";
import { fromLocalInput, toLocalInput } from "../lib/local-input";
import type { SetQuery } from "../lib/query";
import { strings } from "../strings";
import classes from "./audit.module.css";
import { exportOf, FILTERS, isNarrowed, MORE, TYPES } from "./filters";

const words = strings.audit;

const EVENTS = TYPES.map((value) => ({ value, label: strings.events.types[value] ?? value }));

interface Props {
  query: URLSearchParams;
  setQuery: SetQuery;
  problems: Record<string, string>;
}

export function AuditFilters({ query, setQuery, problems }: Props) {
  const people = usePeople();
  const agents = useAgents();
  const system = { id: "system", name: words.system };
  const types = query.getAll("type");
  const active = MORE.filter((name) => query.has(name)).length;
  const [wanted, setWanted] = useState(active > 0);
  const open = wanted || MORE.some((name) => name in problems);
  const id = useId();
  const one = (name: string, label: string, named: Named[]) => (
    <Select
      label={label}
      placeholder={words.any}
      data={choices(named, query.get(name))}
      value={query.get(name)}
      error={problems[name]}
      searchable
      clearable
      limit={100}
      onChange={(value) => setQuery({ [name]: value })}
    />
  );
  const instant = (name: string, label: string) => (
    <TextInput
      type="datetime-local"
      label={label}
      value={toLocalInput(query.get(name))}
      error={problems[name]}
      onChange={({ currentTarget }) => setQuery({ [name]: fromLocalInput(currentTarget.value) }, { replace: true })}
    />
  );
  return (
    <div role="search" aria-label={words.filters}>
      <div className={classes.first}>
        <DraftInput
          className={classes.search}
          aria-label={words.search}
          placeholder={words.searchHint}
          leftSection={<SearchIcon />}
          type="search"
          maxLength={500}
          value={query.get("q") ?? ""}
          error={problems.q}
          onCommit={(q, goingOn) => setQuery({ q }, { replace: goingOn })}
        />
        <MultiSelect
          className={classes.types}
          aria-label={words.type}
          placeholder={types.length === 0 ? words.anyEvent : undefined}
          data={EVENTS}
          value={types}
          error={problems.type}
          searchable
          clearable
          onChange={(type) => setQuery({ type })}
        />
        <Button
          variant="default"
          leftSection={<FilterIcon />}
          aria-expanded={open}
          aria-controls={id}
          onClick={() => setWanted(!open)}
        >
          {strings.dashboard.filtersActive(active)}
        </Button>
        <Menu position="bottom-end">
          <Menu.Target>
            <Button variant="default" leftSection={<DownloadIcon />}>
              {words.export}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Label maw={240}>{words.exportHint}</Menu.Label>
            <Menu.Item component="a" href={exportOf(query, "jsonl")} download>
              {words.asJsonl}
            </Menu.Item>
            <Menu.Item component="a" href={exportOf(query, "csv")} download>
              {words.asCsv}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
        {isNarrowed(query) && (
          <Button
            variant="subtle"
            onClick={() => setQuery(Object.fromEntries(FILTERS.map((name) => [name, null])))}
          >
            {strings.dashboard.clearFilters}
          </Button>
        )}
      </div>
      <div id={id}>
        {open && (
          <div className={classes.more}>
            {one("actor", words.actor, [system, ...people, ...agents.filter((agent) => !knows(people, agent.id))])}
            {one("agent", words.agent, agents)}
            <DraftInput
              label={words.requestId}
              placeholder={words.any}
              value={query.get("request_id") ?? ""}
              error={problems.request_id}
              onCommit={(value, goingOn) => setQuery({ request_id: value }, { replace: goingOn })}
            />
            {instant("from", words.from)}
            {instant("to", words.to)}
          </div>
        )}
      </div>
    </div>
  );
}

function knows(named: Named[], id: string): boolean {
  return named.some((each) => each.id === id);
}

function choices(named: Named[], chosen: string | null): { value: string; label: string }[] {
  const known = named.map(({ id, name }) => ({ value: id, label: name }));
  const isKnown = chosen === null || knows(named, chosen);
  return isKnown ? known : [...known, { value: chosen, label: chosen }];
}
