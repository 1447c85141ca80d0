import { Button, Group, Modal, SegmentedControl, Select, Stack, Text, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import type { RequestItem } from "../api/client";
import { useLists, usePeople, type Named } from "../api/names";
import { complain } from "../lib/notify";
import { strings } from "../strings";
import { change, type Change, type Result, type Target } from "./bulk";
import { BulkResults } from "./BulkResults";
import { problemsIn } from "../lib/problems";

const words = strings.bulk;

export interface Meant {
  action: Change["action"];
  /** How many, in words. */
  count: string;
  target: Target;
  known: ReadonlyMap<string, RequestItem>;
}

interface Props {
  meant: Meant | null;
  onClose: (done: boolean) => void;
  onDone: (position: number) => void;
}

export function BulkDialog({ meant, onClose, onDone }: Props) {
  const [done, setDone] = useState(false);
  const close = () => {
    setDone(false);
    onClose(done);
  };
  const title = meant?.action === "cancel" ? words.cancelTitle : words.reassignTitle;
  return (
    <Modal
      opened={meant !== null}
      onClose={close}
      title={meant === null ? "" : title(meant.count)}
      closeButtonProps={{ "aria-label": words.close }}
    >
      {meant !== null && (
        <Steps
          meant={meant}
          onClose={close}
          onDone={(position) => {
            setDone(true);
            onDone(position);
          }}
        />
      )}
    </Modal>
  );
}

function Steps({ meant, onClose, onDone }: { meant: Meant; onClose: () => void; onDone: (position: number) => void }) {
  const [results, setResults] = useState<Result[]>([]);
  const act = useMutation({
    mutationFn: ({ target, how }: { target: Target; how: Change }) => change(target, how),
    onSuccess: (outcome) => {
      setResults((before) => [...before, ...outcome.results]);
      onDone(outcome.position);
    },
    onError: (error) => {
      if (problemsIn(error) === null) complain(error);
    },
  });
  const how = act.variables?.how;
  const rest = act.data?.rest ?? null;
  if (how !== undefined && (results.length > 0 || act.isSuccess)) {
    return (
      <BulkResults
        results={results}
        known={meant.known}
        going={act.isPending}
        onGoOn={rest === null ? null : () => act.mutate({ target: rest, how })}
        onClose={onClose}
      />
    );
  }
  return (
    <Asked
      action={meant.action}
      problems={problemsIn(act.error) ?? {}}
      sending={act.isPending}
      onClose={onClose}
      onSend={(wanted) => act.mutate({ target: meant.target, how: wanted })}
    />
  );
}

interface AskedProps {
  action: Change["action"];
  problems: Record<string, string>;
  sending: boolean;
  onClose: () => void;
  onSend: (how: Change) => void;
}

function Asked({ action, problems, sending, onClose, onSend }: AskedProps) {
  const people = usePeople();
  const lists = useLists();
  const [toList, setToList] = useState(false);
  const [chosen, setChosen] = useState<string | null>(null);
  const [note, setNote] = useState("");
  const cancels = action === "cancel";
  const wanted: Change = { action, ...(note.trim() !== "" && { note }) };
  if (!cancels && chosen !== null) wanted[toList ? "list" : "to"] = chosen;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSend(wanted);
      }}
    >
      <Stack gap="sm">
        {cancels ? (
          <Text size="sm">{words.cancelHint}</Text>
        ) : (
          <>
            <SegmentedControl
              aria-label={words.target}
              data={[
                { value: "to", label: words.toPerson },
                { value: "list", label: words.toList },
              ]}
              value={toList ? "list" : "to"}
              onChange={(value) => {
                setToList(value === "list");
                setChosen(null);
              }}
            />
            <Select
              key={String(toList)}
              label={toList ? words.list : words.person}
              data={(toList ? lists : people).map(choice)}
              value={chosen}
              onChange={setChosen}
              error={toList ? problems.list : problems.to}
              searchable
              required
              limit={100}
              data-autofocus
            />
          </>
        )}
        <Textarea
          label={cancels ? words.reason : words.note}
          description={cancels ? words.reasonHint : words.noteHint}
          value={note}
          onChange={({ currentTarget }) => setNote(currentTarget.value)}
          error={problems.note ?? problems.reason ?? problems.ids ?? problems.filter}
          autosize
          minRows={2}
          data-autofocus={cancels || undefined}
        />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {words.back}
          </Button>
          <Button
            type="submit"
            color={cancels ? "red.9" : undefined}
            loading={sending}
            disabled={!cancels && chosen === null}
          >
            {cancels ? words.doCancel : words.doReassign}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function choice({ id, name }: Named) {
  return { value: id, label: name };
}
