// Filters that stand in the address, each with what the server says of it.

import { Button, Select, TextInput } from "@mantine/core";
import { FilterIcon, SearchIcon } from "@primer/octicons-react";
import type { ReactNode } from "react";

import type { Named } from "../api/names";
import { strings } from "../strings";
import { DraftInput } from "./DraftInput";
import classes from "./filters.module.css";
import { fromLocalInput, toLocalInput } from "./local-input";
import type { SetQuery } from "./query";

const words = strings.filters;

export interface Filtered {
  query: URLSearchParams;
  setQuery: SetQuery;
  /** What the server did not understand, by filter. */
  problems: Record<string, string>;
}

interface Filter extends Filtered {
  name: string;
  label: string;
}

/** An id that nobody knows still shows, so that one sees what was asked for. */
export function choices(named: Named[], chosen: string[]): { value: string; label: string }[] {
  const known = named.map(({ id, name }) => ({ value: id, label: name }));
  const unknown = chosen.filter((id) => !named.some((each) => each.id === id));
  return [...known, ...unknown.map((id) => ({ value: id, label: id }))];
}

export function OneFilter({ query, setQuery, problems, name, label, named }: Filter & { named: Named[] }) {
  const chosen = query.get(name);
  return (
    <Select
      label={label}
      placeholder={words.any}
      data={choices(named, chosen === null ? [] : [chosen])}
      value={chosen}
      error={problems[name]}
      searchable
      clearable
      limit={100}
      onChange={(value) => setQuery({ [name]: value })}
    />
  );
}

export function InstantFilter({ query, setQuery, problems, name, label }: Filter) {
  return (
    <TextInput
      type="datetime-local"
      label={label}
      value={toLocalInput(query.get(name))}
      error={problems[name]}
      onChange={({ currentTarget }) => setQuery({ [name]: fromLocalInput(currentTarget.value) }, { replace: true })}
    />
  );
}

export function TextFilter(props: Filter & { inputMode?: "numeric"; maxLength?: number }) {
  const { query, setQuery, problems, name, label, ...field } = props;
  return (
    <DraftInput
      label={label}
      placeholder={words.any}
      value={query.get(name) ?? ""}
      error={problems[name]}
      onCommit={(value, goingOn) => setQuery({ [name]: value }, { replace: goingOn })}
      {...field}
    />
  );
}

export function WordsFilter({ query, setQuery, problems, hint, label }: Filtered & { hint: string; label: string }) {
  return (
    <DraftInput
      className={classes.search}
      aria-label={label}
      placeholder={hint}
      leftSection={<SearchIcon />}
      type="search"
      maxLength={500}
      value={query.get("q") ?? ""}
      error={problems.q}
      onCommit={(q, goingOn) => setQuery({ q }, { replace: goingOn })}
    />
  );
}

export function Filters({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div role="search" aria-label={label} className={classes.filters}>
      {children}
    </div>
  );
}

/** What is used most, in a line. */
export function FilterLine({ children }: { children: ReactNode }) {
  return <div className={classes.first}>{children}</div>;
}

/** What is behind the button. */
export function MoreFilterFields({ children }: { children: ReactNode }) {
  return <div className={classes.more}>{children}</div>;
}

interface MoreProps {
  active: number;
  open: boolean;
  controls: string;
  onToggle: () => void;
}

/** Shows the filters that are needed less often, and how many of them are set. */
export function MoreButton({ active, open, controls, onToggle }: MoreProps) {
  return (
    <Button
      variant="default"
      leftSection={<FilterIcon />}
      aria-expanded={open}
      aria-controls={controls}
      onClick={onToggle}
    >
      {words.active(active)}
    </Button>
  );
}

export function ClearButton({ onClear }: { onClear: () => void }) {
  return (
    <Button variant="subtle" onClick={onClear}>
      {words.clear}
    </Button>
  );
}
