// Roles are said again: laid out as cards, a table is none to the browser.

import { Checkbox, UnstyledButton } from "@mantine/core";
import { ArrowDownIcon, ArrowUpIcon } from "@primer/octicons-react";
import type { ReactNode } from "react";

import type { RequestItem } from "../api/client";
import { strings } from "../strings";
import classes from "./table.module.css";
import { RequestRow } from "./RequestRow";
import type { Selection } from "./selection";

const words = strings.dashboard;

interface Props {
  items: RequestItem[];
  openId: string | null;
  sort: string;
  onSort: (sort: string) => void;
  /** null where this person may not change many at once. */
  selection: Selection | null;
}

export function RequestTable({ items, openId, sort, onSort, selection }: Props) {
  const column = (name: string, label: string) => (
    <SortedColumn name={name} sort={sort} onSort={onSort}>
      {label}
    </SortedColumn>
  );
  return (
    <table role="table" aria-label={words.requests} className={classes.table}>
      <thead role="rowgroup">
        <tr role="row" className={classes.head}>
          {selection !== null && (
            <th role="columnheader" className={classes.check}>
              <Checkbox
                size="xs"
                aria-label={words.selectPage}
                checked={selection.isWhole(items)}
                indeterminate={selection.isPart(items)}
                onChange={() => selection.toggleAll(items)}
              />
              <span className={classes.onlyInCards} aria-hidden>
                {words.selectAll}
              </span>
            </th>
          )}
          <Column>{words.request}</Column>
          <Column>{words.status}</Column>
          <Column>{words.type}</Column>
          {column("agent", words.agent)}
          <Column>{words.assignedTo}</Column>
          {column("priority", words.priority)}
          {column("created_at", words.created)}
          {column("expires_at", words.ends)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {items.map((item) => (
          <RequestRow
            key={item.id}
            item={item}
            open={item.id === openId}
            chosen={selection?.chosen.has(item.id) ?? false}
            onChoose={selection === null ? null : (range) => selection.toggle(item, items, range)}
          />
        ))}
      </tbody>
    </table>
  );
}

function Column({ children }: { children: ReactNode }) {
  return (
    <th role="columnheader" scope="col">
      {children}
    </th>
  );
}

interface SortedColumnProps {
  name: string;
  sort: string;
  onSort: (sort: string) => void;
  children: ReactNode;
}

function SortedColumn({ name, sort, onSort, children }: SortedColumnProps) {
  const sorted = sort === name ? "ascending" : sort === `-${name}` ? "descending" : undefined;
  return (
    <th role="columnheader" scope="col" aria-sort={sorted}>
      <UnstyledButton
        className={classes.sorter}
        onClick={() => onSort(sorted === "ascending" ? `-${name}` : name)}
      >
        {children}
        {sorted === "ascending" && <ArrowUpIcon size={14} />}
        {sorted === "descending" && <ArrowDownIcon size={14} />}
      </UnstyledButton>
    </th>
  );
}
