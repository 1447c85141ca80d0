// Whom a strategy asks: the kind of it, and the person or list that this kind needs.

import { NativeSelect, Stack } from "@mantine/core";

import { useLists } from "../api/names";
import { strings } from "../strings";
import type { ProblemAt } from "./draft";
import { EntrySelect, PersonSelect } from "./fields";
import { changed, LIST_STRATEGIES, retyped, TYPES, typeOf, type Strategy, type StrategyType } from "./strategy";

const text = strings.settings.strategy;

interface Props {
  path: string;
  value: Strategy | null;
  onChange: (value: Strategy) => void;
  problem: ProblemAt;
  /** What it means that there is no strategy, and to have it so. */
  none: string;
  onNone: () => void;
  /** The strategy around this one, of which a step says only what differs. */
  around?: Strategy;
}

export function WhomFields({ path, value, onChange, problem, none, onNone, around }: Props) {
  const lists = useLists();
  const above = around && typeOf(around);
  const type = (value && typeOf(value)) ?? above;
  const strategy = value ?? {};
  const set = (fields: Record<string, unknown>) => onChange(changed(strategy, fields));
  const as = (name: string) => (typeof around?.[name] === "string" ? text.asAbove(String(around[name])) : undefined);

  return (
    <Stack gap="sm">
      <NativeSelect
        label={text.ask}
        value={(value && typeOf(value)) ?? ""}
        onChange={({ currentTarget }) => {
          const chosen = currentTarget.value as StrategyType | "";
          if (chosen === "") onNone();
          else onChange(retyped(strategy, chosen, above));
        }}
        data={[
          { value: "", label: above === undefined ? none : text.sameWay(text.types[above]) },
          ...TYPES.map((each) => ({ value: each, label: text.types[each] })),
        ]}
        error={problem(`${path}/type`)}
      />
      {type === "SpecificUser" && (
        <PersonSelect
          label={text.person}
          placeholder={as("userID")}
          value={strategy.userID as string | undefined}
          onChange={(id) => set({ userID: id ?? undefined })}
          error={problem(`${path}/userID`)}
        />
      )}
      {(type === "List" || type === "SharedInbox") && (
        <EntrySelect
          entries={lists}
          label={text.list}
          placeholder={as("listID")}
          value={strategy.listID as string | undefined}
          onChange={(id) => set({ listID: id ?? undefined })}
          error={problem(`${path}/listID`)}
        />
      )}
      {type === "List" && (
        <NativeSelect
          label={text.picks}
          value={String(strategy.listStrategy ?? around?.listStrategy ?? LIST_STRATEGIES[0])}
          onChange={({ currentTarget }) => set({ listStrategy: currentTarget.value })}
          data={LIST_STRATEGIES.map((each) => ({ value: each, label: text.listStrategies[each] }))}
          error={problem(`${path}/listStrategy`)}
        />
      )}
    </Stack>
  );
}
