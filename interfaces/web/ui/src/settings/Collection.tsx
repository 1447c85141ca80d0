// One collection: found by searching, added to, and each entry opened beside it.

import { Button, Group, Stack, Table, Text, TextInput, Title, UnstyledButton } from "@mantine/core";
import { PlusIcon, SearchIcon } from "@primer/octicons-react";
import { useRef, useState, type ComponentType, type ReactNode } from "react";

import { Empty, Failure, Loading } from "../lib/State";
import { strings } from "../strings";
import { useEntries } from "./entries";
import { EntryForm, type FieldsProps, type Removal } from "./EntryForm";
import { FormDrawer } from "./FormDrawer";
import type { Entry, Kind } from "./kinds";
import classes from "./Settings.module.css";

const text = strings.settings;
const SHOWN_AT_FIRST = 200;

export interface Column<T> {
  label: string;
  cell: (entry: T) => ReactNode;
  /** Shown on phones too. */
  always?: boolean;
}

interface Props<T extends Entry> {
  kind: Kind<T>;
  said: { title: string; add: string; one: string; help: string };
  columns: Column<T>[];
  blank: T;
  Fields: ComponentType<FieldsProps<T>>;
  /** What one can search for, besides name and id. */
  words?: (entry: T) => string;
  removable?: (entry: T) => boolean;
  removal?: Removal;
  /** Called when the drawer is gone. */
  onClosed?: () => void;
  /** Another way to show them than a table. */
  show?: (entries: T[], open: (entry: T | null, preset?: Partial<T>) => void, search: string) => ReactNode;
}

interface Open<T> {
  entry: T | null;
  preset?: Partial<T> | undefined;
  number: number;
}

export function Collection<T extends Entry>(props: Props<T>) {
  const { kind, said, columns, blank, Fields, words = () => "", removable = () => true, removal, show } = props;
  const found = useEntries(kind);
  const [search, setSearch] = useState("");
  const [limit, setLimit] = useState(SHOWN_AT_FIRST);
  const [opened, setOpened] = useState(false);
  const [inside, setInside] = useState<Open<T> | null>(null);
  const searchField = useRef<HTMLInputElement>(null);

  const open = (entry: T | null, preset?: Partial<T>) => {
    setInside((before) => ({ entry, preset, number: (before?.number ?? 0) + 1 }));
    setOpened(true);
  };
  const close = useRef(() => setOpened(false)).current;

  const sought = search.trim().toLowerCase();
  const matching = (found.data ?? []).filter((entry) =>
    `${entry.id}\n${entry.name ?? ""}\n${words(entry)}`.toLowerCase().includes(sought),
  );

  return (
    <Stack gap="sm">
      <Group justify="space-between" align="end">
        <div>
          <Title order={1} size="h3">
            {said.title}
          </Title>
          <Text size="sm" c="dimmed">
            {said.help}
          </Text>
        </div>
        <Button leftSection={<PlusIcon />} onClick={() => open(null)}>
          {said.add}
        </Button>
      </Group>
      <TextInput
        ref={searchField}
        type="search"
        aria-label={text.searchIn(said.title)}
        placeholder={text.search}
        leftSection={<SearchIcon />}
        value={search}
        onChange={({ currentTarget }) => setSearch(currentTarget.value)}
      />
      {found.isPending ? (
        <Loading />
      ) : found.data === undefined ? (
        <Failure error={found.error} retry={() => void found.refetch()} />
      ) : show !== undefined ? (
        show(found.data, open, sought)
      ) : matching.length === 0 ? (
        <Empty title={found.data.length === 0 ? text.noneYet : text.nothingFound} />
      ) : (
        <Table className={classes.table} highlightOnHover verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{text.name}</Table.Th>
              {columns.map(({ label, always }) => (
                <Table.Th key={label} visibleFrom={always ? undefined : "sm"}>
                  {label}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {matching.slice(0, limit).map((entry) => (
              <Table.Tr key={entry.id}>
                <Table.Td>
                  <EntryName entry={entry} onOpen={() => open(entry)} />
                </Table.Td>
                {columns.map(({ label, cell, always }) => (
                  <Table.Td key={label} visibleFrom={always ? undefined : "sm"}>
                    {cell(entry)}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {show === undefined && matching.length > limit && (
        <Button variant="default" onClick={() => setLimit(limit + SHOWN_AT_FIRST)}>
          {text.showMore(matching.length - limit)}
        </Button>
      )}
      <FormDrawer
        opened={opened}
        title={inside?.entry == null ? said.add : text.edit(said.one, inside.entry.name ?? inside.entry.id)}
        onClose={close}
        onClosed={() => {
          // What had the focus before may be gone, with the entry.
          if (document.activeElement === document.body) searchField.current?.focus();
          props.onClosed?.();
        }}
      >
        {(drawer) =>
          inside && (
            <EntryForm
              key={inside.number}
              kind={kind}
              entry={inside.entry}
              blank={blank}
              preset={inside.preset}
              Fields={Fields}
              removable={inside.entry !== null && removable(inside.entry)}
              removal={removal}
              onDone={drawer.onLeave}
              {...drawer}
            />
          )
        }
      </FormDrawer>
    </Stack>
  );
}

export function EntryName({ entry, onOpen }: { entry: Entry; onOpen: () => void }) {
  return (
    <>
      <UnstyledButton className={classes.name} onClick={onOpen}>
        {entry.name ?? entry.id}
      </UnstyledButton>
      <div className={classes.id}>{entry.id}</div>
    </>
  );
}
