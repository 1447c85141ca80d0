import { MultiSelect, Select, TextInput } from "@mantine/core";

import type { Named } from "../api/names";
import { DraftInput } from "../lib/DraftInput";
import { fromLocalInput, toLocalInput } from "../lib/local-input";
import type { SetQuery } from "../lib/query";
import { strings } from "../strings";
import classes from "./dashboard.module.css";

const words = strings.dashboard;

/** What one can choose from; people who may not read the directory choose from what they have seen. */
export interface Choices {
  agents: Named[];
  people: Named[];
  lists: Named[];
}

interface Props {
  query: URLSearchParams;
  narrow: SetQuery;
  problems: Record<string, string>;
  choices: Choices;
  types: Named[];
}

/** An id that nobody knows still shows, so that one sees what was asked for. */
function options(named: Named[], chosen: string[]): { value: string; label: string }[] {
  const known = named.map(({ id, name }) => ({ value: id, label: name }));
  const unknown = chosen.filter((id) => !named.some((each) => each.id === id));
  return [...known, ...unknown.map((id) => ({ value: id, label: id }))];
}

export function MoreFilters({ query, narrow, problems, choices, types }: Props) {
  const chosenTypes = query.getAll("request_type");
  const one = (name: string, label: string, named: Named[]) => {
    const chosen = query.get(name);
    return (
      <Select
        label={label}
        placeholder={words.any}
        data={options(named, chosen === null ? [] : [chosen])}
        value={chosen}
        error={problems[name]}
        searchable
        clearable
        limit={100}
        onChange={(value) => narrow({ [name]: value })}
      />
    );
  };
  const text = (name: string, label: string, inputMode?: "numeric") => (
    <DraftInput
      label={label}
      placeholder={words.any}
      value={query.get(name) ?? ""}
      error={problems[name]}
      inputMode={inputMode}
      maxLength={500}
      onCommit={(value, goingOn) => narrow({ [name]: value }, { replace: goingOn })}
    />
  );
  const instant = (name: string, label: string) => (
    <TextInput
      type="datetime-local"
      label={label}
      value={toLocalInput(query.get(name))}
      error={problems[name]}
      onChange={({ currentTarget }) => narrow({ [name]: fromLocalInput(currentTarget.value) }, { replace: true })}
    />
  );
  return (
    <div className={classes.more}>
      <MultiSelect
        label={words.type}
        placeholder={chosenTypes.length === 0 ? words.any : undefined}
        data={options(types, chosenTypes)}
        value={chosenTypes}
        error={problems.request_type}
        clearable
        onChange={(value) => narrow({ request_type: value })}
      />
      {one("agent", words.agent, choices.agents)}
      {one("assigned_to", words.assignedTo, [{ id: "nobody", name: words.nobody }, ...choices.people])}
      {one("list", words.list, choices.lists)}
      {text("run_id", words.runId)}
      {text("priority_min", words.priorityFrom, "numeric")}
      {text("priority_max", words.priorityTo, "numeric")}
      {instant("created_from", words.createdFrom)}
      {instant("created_to", words.createdTo)}
    </div>
  );
}
