import { MultiSelect } from "@mantine/core";

import type { Named } from "../api/names";
import { choices, type Filtered, InstantFilter, MoreFilterFields, OneFilter, TextFilter } from "../lib/filters";
import { strings } from "../strings";

const words = strings.dashboard;
const ACKNOWLEDGED = Object.entries(words.acknowledgedOnes).map(([id, name]) => ({ id, name }));

/** What one can choose from; people who may not read the directory choose from what they have seen. */
export interface Choices {
  agents: Named[];
  people: Named[];
  lists: Named[];
}

interface Props extends Filtered {
  choices: Choices;
  types: Named[];
}

export function MoreFilters({ choices: from, types, ...filtered }: Props) {
  const { query, setQuery, problems } = filtered;
  const chosenTypes = query.getAll("request_type");
  const text = (name: string, label: string, inputMode?: "numeric") => (
    <TextFilter {...filtered} name={name} label={label} inputMode={inputMode} maxLength={500} />
  );
  const nobody = { id: "nobody", name: words.nobody };
  return (
    <MoreFilterFields>
      <MultiSelect
        label={words.type}
        placeholder={chosenTypes.length === 0 ? strings.filters.any : undefined}
        data={choices(types, chosenTypes)}
        value={chosenTypes}
        error={problems.request_type}
        clearable
        onChange={(value) => setQuery({ request_type: value })}
      />
      <OneFilter {...filtered} name="agent" label={words.agent} named={from.agents} />
      <OneFilter {...filtered} name="assigned_to" label={words.assignedTo} named={[nobody, ...from.people]} />
      <OneFilter {...filtered} name="list" label={words.list} named={from.lists} />
      {text("run_id", words.runId)}
      {text("priority_min", words.priorityFrom, "numeric")}
      {text("priority_max", words.priorityTo, "numeric")}
      <InstantFilter {...filtered} name="created_from" label={words.createdFrom} />
      <InstantFilter {...filtered} name="created_to" label={words.createdTo} />
      <InstantFilter {...filtered} name="closed_from" label={words.closedFrom} />
      <InstantFilter {...filtered} name="closed_to" label={words.closedTo} />
      <OneFilter {...filtered} name="acknowledged" label={words.acknowledged} named={ACKNOWLEDGED} />
    </MoreFilterFields>
  );
}
