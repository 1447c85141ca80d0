import { Button, Group, MultiSelect, Select } from "@mantine/core";
import { FilterIcon, SearchIcon } from "@primer/octicons-react";
import { useId, useState } from "react";

import { useRequestTypes } from "../api/names";
import { DraftInput } from "../lib/DraftInput";
import type { SetQuery } from "../lib/query";
import { strings } from "../strings";
import classes from "./dashboard.module.css";
import { ALL, howManyMore, isNarrowed, sortOf } from "./filters";
import { MoreFilters, type Choices } from "./MoreFilters";

const words = strings.dashboard;

const STATUSES = [
  { value: "Requested", label: strings.status.open },
  { value: "Responded", label: strings.status.answered },
  { value: "Cancelled", label: strings.status.cancelled },
  { value: "Expired", label: strings.status.expired },
];
const SORTS = Object.entries(words.sorts).map(([value, label]) => ({ value, label }));

interface Props {
  query: URLSearchParams;
  setQuery: SetQuery;
  /** What the server did not understand, by filter. */
  problems: Record<string, string>;
  choices: Choices;
}

export function FilterBar({ query, setQuery, problems, choices }: Props) {
  const [wanted, setWanted] = useState(() => howManyMore(query) > 0);
  const id = useId();
  const types = useRequestTypes();
  const misunderstood = Object.keys(problems).some((name) => name !== "q" && name !== "status");
  const open = wanted || misunderstood;
  // Another place in the list has no meaning in a list that is narrowed otherwise.
  const narrow: SetQuery = (change, options) => setQuery({ ...change, cursor: null, page: null }, options);
  const clear = () => narrow(Object.fromEntries(ALL.map((name) => [name, null])));
  return (
    <div role="search" aria-label={words.filters} className={classes.filters}>
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
          onCommit={(q, goingOn) => narrow({ q }, { replace: goingOn })}
        />
        <MultiSelect
          className={classes.statuses}
          aria-label={words.status}
          placeholder={query.has("status") ? undefined : words.status}
          data={STATUSES}
          value={query.getAll("status")}
          error={problems.status}
          clearable
          onChange={(status) => narrow({ status })}
        />
        <Select
          className={classes.sort}
          aria-label={words.sortBy}
          data={SORTS}
          value={sortOf(query)}
          error={problems.sort}
          allowDeselect={false}
          onChange={(sort) => narrow({ sort })}
        />
        <Group gap="xs" wrap="nowrap">
          <Button
            variant="default"
            leftSection={<FilterIcon />}
            aria-expanded={open}
            aria-controls={id}
            onClick={() => setWanted(!open)}
          >
            {words.filtersActive(howManyMore(query))}
          </Button>
          {isNarrowed(query) && (
            <Button variant="subtle" onClick={clear}>
              {words.clearFilters}
            </Button>
          )}
        </Group>
      </div>
      <div id={id}>
        {open && <MoreFilters query={query} narrow={narrow} problems={problems} choices={choices} types={types} />}
      </div>
    </div>
  );
}
