// Pages by cursor. The cursor stands in the address, those before it in the history entry: a reload keeps both, and
// somebody who got the address from another can still go to the first page.

import { Button, Group, Select, Text } from "@mantine/core";
import { ChevronLeftIcon, ChevronRightIcon } from "@primer/octicons-react";

import type { SetQuery } from "../lib/query";
import { strings } from "../strings";
import classes from "./dashboard.module.css";
import { SIZES, sizeOf } from "./filters";

const words = strings.dashboard;

interface Props {
  query: URLSearchParams;
  setQuery: SetQuery;
  next: string | null;
}

/** The cursors of the pages before this one, from the first ("") on. */
function pagesBefore(): string[] {
  const state = history.state as { before?: unknown } | null;
  return Array.isArray(state?.before) ? state.before.map(String) : [];
}

export function Paging({ query, setQuery, next }: Props) {
  const cursor = query.get("cursor") ?? "";
  const before = cursor === "" ? [] : pagesBefore();
  const page = cursor === "" ? 1 : Math.max(2, Number(query.get("page")) || 2);
  const goBack = () => {
    const previous = before.at(-1) ?? "";
    const number = previous === "" ? null : String(page - 1);
    setQuery({ cursor: previous, page: number }, { state: { before: before.slice(0, -1) } });
  };
  return (
    <nav aria-label={words.pages} className={classes.paging}>
      <Select
        aria-label={words.perPage}
        data={SIZES}
        value={sizeOf(query)}
        allowDeselect={false}
        size="xs"
        w={76}
        onChange={(size) => setQuery({ size, cursor: null, page: null })}
      />
      <Text size="sm" c="dimmed">
        {words.page(page)}
      </Text>
      <Group gap="xs">
        <Button
          size="xs"
          variant="default"
          leftSection={<ChevronLeftIcon />}
          disabled={cursor === ""}
          onClick={goBack}
        >
          {cursor !== "" && before.length === 0 ? words.firstPage : words.previous}
        </Button>
        <Button
          size="xs"
          variant="default"
          rightSection={<ChevronRightIcon />}
          disabled={next === null}
          onClick={() =>
            setQuery({ cursor: next, page: String(page + 1) }, { state: { before: [...before, cursor] } })
          }
        >
          {words.next}
        </Button>
      </Group>
    </nav>
  );
}
