import { Button, Menu, MultiSelect } from "@mantine/core";
import { DownloadIcon } from "@primer/octicons-react";
import { useId, useState } from "react";

import { useAgents, usePeople } from "../api/names";
import {
  ClearButton,
  type Filtered,
  FilterLine,
  Filters,
  InstantFilter,
  MoreButton,
  MoreFilterFields,
  OneFilter,
  TextFilter,
  WordsFilter,
} from "../lib/filters";
import { strings } from "../strings";
import classes from "./audit.module.css";
import { exportOf, FILTERS, isNarrowed, MORE, TYPES } from "./filters";

const words = strings.audit;

const EVENTS = TYPES.map((value) => ({ value, label: strings.events.types[value] ?? value }));

export function AuditFilters({ query, setQuery, problems }: Filtered) {
  const people = usePeople();
  const agents = useAgents();
  const system = { id: "system", name: words.system };
  const types = query.getAll("type");
  const active = MORE.filter((name) => query.has(name)).length;
  const [wanted, setWanted] = useState(active > 0);
  const open = wanted || MORE.some((name) => name in problems);
  const id = useId();
  const filtered = { query, setQuery, problems };
  return (
    <Filters label={words.filters}>
      <FilterLine>
        <WordsFilter {...filtered} label={words.search} hint={words.searchHint} />
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
        <MoreButton active={active} open={open} controls={id} onToggle={() => setWanted(!open)} />
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
          <ClearButton onClear={() => setQuery(Object.fromEntries(FILTERS.map((name) => [name, null])))} />
        )}
      </FilterLine>
      <div id={id}>
        {open && (
          <MoreFilterFields>
            <OneFilter
              {...filtered}
              name="actor"
              label={words.actor}
              named={[system, ...people, ...agents.filter((agent) => !people.some(({ id }) => id === agent.id))]}
            />
            <OneFilter {...filtered} name="agent" label={words.agent} named={agents} />
            <TextFilter {...filtered} name="request_id" label={words.requestId} />
            <InstantFilter {...filtered} name="from" label={words.from} />
            <InstantFilter {...filtered} name="to" label={words.to} />
          </MoreFilterFields>
        )}
      </div>
    </Filters>
  );
}
