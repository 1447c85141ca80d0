// Handing a request to somebody else.

import { SegmentedControl, Select } from "@mantine/core";
import { useState } from "react";

import { useLists, usePeople, type Named } from "../api/names";
import { strings } from "../strings";
import { ActDialog, Note, type DialogProps } from "./ActDialog";
import { delegate, reassign } from "./commands";
import { useAct } from "./useAct";
import { useWho } from "./who";

export function DelegateDialog({ id, request, onClose }: DialogProps) {
  const [person, setPerson] = useState<string | null>(null);
  const [note, setNote] = useState("");
  const people = usePeople();
  const who = useWho();
  const acting = useAct(id);
  const confirm = async () => {
    if (person === null) return;
    if (await acting.act(() => delegate(request.id, person, note), strings.act.moved(who.target(person)))) onClose();
  };
  return (
    <ActDialog
      title={strings.act.delegateTitle}
      confirm={strings.act.doDelegate}
      disabled={person === null}
      acting={acting}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <Choice
        label={strings.act.person}
        from={people.filter((each) => each.id !== request.assigned_to)}
        value={person}
        onChange={setPerson}
      />
      <Note value={note} onChange={setNote} />
    </ActDialog>
  );
}

type Kind = "person" | "list" | "afresh";

export function ReassignDialog({ id, request, onClose }: DialogProps) {
  const [kind, setKind] = useState<Kind>("person");
  const [target, setTarget] = useState<string | null>(null);
  const [note, setNote] = useState("");
  const people = usePeople();
  const lists = useLists();
  const who = useWho();
  const acting = useAct(id);
  const confirm = async () => {
    const to = kind === "afresh" ? {} : { [kind === "person" ? "to" : "list"]: target ?? undefined };
    const said = kind === "afresh" ? strings.act.routed : strings.act.moved(who.target(target));
    if (await acting.act(() => reassign(request.id, to, note), said)) onClose();
  };
  return (
    <ActDialog
      title={strings.act.reassignTitle}
      confirm={strings.act.doReassign}
      disabled={kind !== "afresh" && target === null}
      acting={acting}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <SegmentedControl
        aria-label={strings.act.target}
        value={kind}
        onChange={(value) => {
          setKind(value as Kind);
          setTarget(null);
        }}
        data={[
          { value: "person", label: strings.act.toPerson },
          { value: "list", label: strings.act.toList },
          { value: "afresh", label: strings.act.afresh },
        ]}
      />
      {kind !== "afresh" && (
        <Choice
          key={kind}
          label={kind === "person" ? strings.act.person : strings.act.list}
          from={kind === "person" ? people : lists}
          value={target}
          onChange={setTarget}
        />
      )}
      <Note value={note} onChange={setNote} />
    </ActDialog>
  );
}

interface ChoiceProps {
  label: string;
  from: Named[];
  value: string | null;
  onChange: (id: string | null) => void;
}

function Choice({ label, from, value, onChange }: ChoiceProps) {
  return (
    <Select
      label={label}
      placeholder={strings.act.choose}
      data={from.map(({ id, name }) => ({ value: id, label: name === id ? id : `${name} (${id})` }))}
      value={value}
      onChange={onChange}
      searchable
      openOnFocus={false}
      limit={100}
      nothingFoundMessage={strings.act.noneFound}
      data-autofocus
    />
  );
}
