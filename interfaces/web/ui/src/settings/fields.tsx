// Fields that several forms have.

import { Select, TextInput, type SelectProps } from "@mantine/core";
import { useMemo, useState, type ReactNode } from "react";

import { usePeople, type Named } from "../api/names";
import { strings } from "../strings";

const text = strings.settings;

interface ChoiceProps extends Omit<SelectProps, "data" | "value" | "onChange"> {
  label: string;
  entries: Named[];
  value: string | null | undefined;
  onChange: (id: string | null) => void;
}

/** One entry of a collection, found by name or id. One that is not there any more is shown by its id. */
export function EntrySelect({ entries, value, onChange, clearable = true, ...props }: ChoiceProps) {
  const data = useMemo(() => {
    const known = entries.map(({ id, name }) => ({ value: id, label: name === id ? id : `${name} (${id})` }));
    const missing = value != null && value !== "" && !entries.some(({ id }) => id === value);
    return missing ? [...known, { value, label: value }] : known;
  }, [entries, value]);
  return (
    <Select
      data={data}
      value={value ?? null}
      onChange={onChange}
      searchable
      clearable={clearable}
      allowDeselect={clearable}
      limit={50}
      clearButtonProps={{ "aria-label": text.clear(props.label), "aria-hidden": false, tabIndex: 0, size: "md" }}
      nothingFoundMessage={text.nothingFound}
      {...props}
    />
  );
}

export function PersonSelect(props: Omit<ChoiceProps, "entries">) {
  return <EntrySelect entries={usePeople()} {...props} />;
}

const ZONES = [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone")])].map((id) => ({ id, name: id }));

export function TimeZoneSelect(props: Omit<ChoiceProps, "entries" | "label">) {
  return <EntrySelect label={text.timeZone} entries={ZONES} placeholder="UTC" {...props} />;
}

interface NumberProps {
  label: string;
  value: unknown;
  onChange: (value: number | string | undefined) => void;
  error?: ReactNode;
  description?: ReactNode;
  placeholder?: string;
}

function meant(text: string): number | string | undefined {
  const plain = text.trim().replace(",", ".");
  if (plain === "") return undefined;
  return Number.isFinite(Number(plain)) ? Number(plain) : plain;
}

/** A number as one types it. What is none is handed on as text, so that nothing that was written gets lost. */
export function NumberField({ value, onChange, ...props }: NumberProps) {
  const [typed, setTyped] = useState("");
  const shown = meant(typed) === (value ?? undefined) ? typed : String(value ?? "");
  return (
    <TextInput
      inputMode="decimal"
      value={shown}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        onChange(meant(currentTarget.value));
      }}
      {...props}
    />
  );
}
