import { Button, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { complain } from "../lib/notify";
import { strings } from "../strings";
import { allThatMatch, countOpen, howMany, type Change } from "./bulk";
import { BulkDialog, type Meant } from "./BulkDialog";
import classes from "./bulk.module.css";
import { mayMatchOpen } from "./filters";
import type { Selection } from "./selection";

const words = strings.bulk;

interface Props {
  query: URLSearchParams;
  selection: Selection;
  /** Whether there can be more than what this page shows. */
  more: boolean;
  onDone: (position: number) => void;
}

/** What can be done with what is selected; there while something is. */
export function BulkBar({ query, selection, more, onDone }: Props) {
  const [all, setAll] = useState<{ of: Selection["chosen"]; count: number | null } | null>(null);
  const [meant, setMeant] = useState<Meant | null>(null);
  const count = useMutation({
    mutationFn: () => countOpen(query),
    onSuccess: (found) => setAll({ of: selection.chosen, count: found }),
    onError: complain,
  });
  const size = selection.chosen.size;
  // Whoever changes the selection does not mean all any more.
  const everything = all !== null && all.of === selection.chosen ? all : null;
  const act = (action: Change["action"]) =>
    setMeant({
      action,
      count: everything === null ? String(size) : howMany(everything.count),
      target: everything === null ? { ids: [...selection.chosen.keys()] } : allThatMatch(query),
      known: selection.chosen,
    });
  return (
    <>
      {size > 0 && (
        <div role="toolbar" aria-label={words.toolbar} className={classes.bulk}>
          <Text size="sm" fw={600} role="status">
            {everything === null ? words.selected(size) : words.selectedAll(howMany(everything.count))}
          </Text>
          {everything === null && more && mayMatchOpen(query) && (
            <Button size="xs" variant="subtle" loading={count.isPending} onClick={() => count.mutate()}>
              {words.selectMatching}
            </Button>
          )}
          <Button size="xs" onClick={() => act("reassign")}>
            {words.reassign}
          </Button>
          <Button size="xs" variant="default" onClick={() => act("cancel")}>
            {words.cancel}
          </Button>
          <Button size="xs" variant="subtle" onClick={selection.clear}>
            {words.clear}
          </Button>
        </div>
      )}
      <BulkDialog
        meant={meant}
        onClose={(done) => {
          setMeant(null);
          if (done) selection.clear();
        }}
        onDone={onDone}
      />
    </>
  );
}
