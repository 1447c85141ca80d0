import { Group, MultiSelect, Select } from "@mantine/core";
import { useId, useState } from "react";

import { useRequestTypes } from "../api/names";
import { ClearButton, type Filtered, FilterLine, Filters, MoreButton, WordsFilter } from "../lib/filters";
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

interface Props extends Filtered {
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
  const filtered = { query, setQuery: narrow, problems };
  const clear = () => narrow(Object.fromEntries(ALL.map((name) => [name, null])));
  return (
    <Filters label={words.filters}>
      <FilterLine>
        <WordsFilter {...filtered} label={words.search} hint={words.searchHint} />
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
          <MoreButton active={howManyMore(query)} open={open} controls={id} onToggle={() => setWanted(!open)} />
          {isNarrowed(query) && <ClearButton onClear={clear} />}
        </Group>
      </FilterLine>
      <div id={id}>
        {open && <MoreFilters {...filtered} choices={choices} types={types} />}
      </div>
    </Filters>
  );
}
