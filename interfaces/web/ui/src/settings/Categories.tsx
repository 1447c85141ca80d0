import { ActionIcon, Text, UnstyledButton } from "@mantine/core";
import { PlusIcon } from "@primer/octicons-react";

import { useNames } from "../api/names";
import { Empty } from "../lib/State";
import { strings } from "../strings";
import { named } from "./Agents";
import { branches, family, inheritedFrom, type Branch } from "./category-tree";
import { Collection } from "./Collection";
import { useEntries } from "./entries";
import type { FieldsProps } from "./EntryForm";
import { EntrySelect } from "./fields";
import { categories, type Category } from "./kinds";
import classes from "./Settings.module.css";
import { summary } from "./strategy";
import { StrategyForm } from "./StrategyForm";

const text = strings.settings;
const ROOT = "all";
const BLANK: Category = { id: "", name: "", parent: ROOT, assignment_strategy: null };

export function Categories() {
  return (
    <Collection
      kind={categories}
      said={text.categories}
      blank={BLANK}
      Fields={CategoryFields}
      columns={[]}
      removable={({ id }) => id !== ROOT}
      show={(all, open, sought) => {
        const tree = branches(all, ({ id, name }) => `${id}\n${name}`.toLowerCase().includes(sought));
        if (tree.length === 0) return <Empty title={text.nothingFound} />;
        return <Tree branches={tree} all={all} open={open} isTop />;
      }}
    />
  );
}

interface TreeProps {
  branches: Branch[];
  all: Category[];
  open: (category: Category | null, preset?: Partial<Category>) => void;
  isTop?: boolean;
}

function Tree({ branches: shown, all, open, isTop = false }: TreeProps) {
  return (
    <ul className={isTop ? classes.tree : undefined} aria-label={isTop ? text.categories.title : undefined}>
      {shown.map(({ category, below }) => (
        <li key={category.id}>
          <div className={classes.leaf}>
            <UnstyledButton className={classes.name} onClick={() => open(category)}>
              {category.name}
            </UnstyledButton>
            <span className={classes.id}>{category.id}</span>
            <Says category={category} all={all} />
            <ActionIcon
              variant="subtle"
              color="gray"
              size={28}
              className={classes.touch}
              ml="auto"
              aria-label={text.addBelow(category.name ?? category.id)}
              title={text.addBelow(category.name ?? category.id)}
              onClick={() => open(null, { parent: category.id })}
            >
              <PlusIcon />
            </ActionIcon>
          </div>
          {below.length > 0 && <Tree branches={below} all={all} open={open} />}
        </li>
      ))}
    </ul>
  );
}

function Says({ category, all }: { category: Category; all: Category[] }) {
  const names = useNames();
  if (category.assignment_strategy !== null) {
    return <Text size="sm">{summary(category.assignment_strategy, names)}</Text>;
  }
  return (
    <Text size="sm" c="dimmed">
      {inheritance(all, category.parent)}
    </Text>
  );
}

function inheritance(all: Category[], parent: string | null): string {
  const from = inheritedFrom(all, parent);
  return from === undefined ? text.inheritsNothing : text.inheritsFrom(from.name ?? from.id);
}

function CategoryFields({ values, set, problem, entry }: FieldsProps<Category>) {
  const all = useEntries(categories).data ?? [];
  const own = entry === null ? new Set<string>() : family(all, entry.id);
  const isRoot = entry !== null && entry.parent === null;
  return (
    <>
      {!isRoot && (
        <EntrySelect
          label={text.parent}
          entries={named(all).filter(({ id }) => !own.has(id))}
          clearable={false}
          value={values.parent}
          onChange={(parent) => set({ parent })}
          error={problem("parent")}
        />
      )}
      <StrategyForm
        label={text.strategy.title}
        path="assignment_strategy"
        value={values.assignment_strategy}
        onChange={(assignment_strategy) => set({ assignment_strategy })}
        problem={problem}
        none={isRoot ? text.strategy.noneHere : inheritance(all, values.parent)}
      />
    </>
  );
}
