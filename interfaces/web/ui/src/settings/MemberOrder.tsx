// Who is in a list, in the order in which they take turns.

import { ActionIcon, Stack, Text } from "@mantine/core";
import { useId } from "@mantine/hooks";
import { ChevronDownIcon, ChevronUpIcon, XIcon } from "@primer/octicons-react";
import { useLayoutEffect, useRef, useState } from "react";

import { useNames, usePeople } from "../api/names";
import { strings } from "../strings";
import type { ProblemAt } from "./draft";
import { EntrySelect } from "./fields";
import classes from "./Settings.module.css";

const text = strings.settings;

interface Props {
  members: string[];
  onChange: (members: string[]) => void;
  problem: ProblemAt;
}

type Way = "up" | "down";

export function MemberOrder({ members, onChange, problem }: Props) {
  const id = useId();
  const { person } = useNames();
  const others = usePeople().filter((each) => !members.includes(each.id));
  const box = useRef<HTMLOListElement>(null);
  const moved = useRef<{ member: string; way: Way } | null>(null);
  const [news, setNews] = useState("");

  // Moving an element in the page takes the focus from it; at either end, the other button is all there is.
  useLayoutEffect(() => {
    if (moved.current === null) return;
    const { member, way } = moved.current;
    moved.current = null;
    const row = box.current?.querySelector(`[data-member="${CSS.escape(member)}"]`);
    const button = (which: string) => row?.querySelector<HTMLButtonElement>(`${which}:enabled`);
    (button(`[data-way=${way}]`) ?? button("[data-way]"))?.focus();
  }, [members]);

  const move = (place: number, way: Way) => {
    const now = [...members];
    const [member] = now.splice(place, 1);
    if (member === undefined) return;
    const to = way === "up" ? place - 1 : place + 1;
    now.splice(to, 0, member);
    moved.current = { member, way };
    setNews(text.movedTo(person(member), to + 1, now.length));
    onChange(now);
  };

  return (
    <Stack gap={6} role="group" aria-labelledby={id}>
      <Text id={id} size="sm" fw={600}>
        {text.members}
      </Text>
      {members.length === 0 ? (
        <Text size="sm" c="dimmed">
          {text.nobody}
        </Text>
      ) : (
        <ol className={classes.members} ref={box}>
          {members.map((member, place) => (
            <li key={member} className={classes.member} data-member={member}>
              <Text size="sm" flex={1}>
                {person(member)} <span className={classes.id}>{member}</span>
                {problem(`members/${place}`) !== undefined && (
                  <Text size="xs" c="red" component="span" display="block">
                    {problem(`members/${place}`)}
                  </Text>
                )}
              </Text>
              <Step way="up" name={person(member)} off={place === 0} onMove={() => move(place, "up")} />
              <Step
                way="down"
                name={person(member)}
                off={place === members.length - 1}
                onMove={() => move(place, "down")}
              />
              <ActionIcon
                variant="subtle"
                color="gray"
                size={32}
                className={classes.touch}
                aria-label={text.takeOut(person(member))}
                onClick={() => onChange(members.filter((each) => each !== member))}
              >
                <XIcon />
              </ActionIcon>
            </li>
          ))}
        </ol>
      )}
      <EntrySelect
        label={text.addMember}
        entries={others}
        value={null}
        onChange={(added) => added !== null && onChange([...members, added])}
        error={problem("members")}
      />
      <Text role="status" size="xs" c="dimmed">
        {news}
      </Text>
    </Stack>
  );
}

function Step({ way, name, off, onMove }: { way: Way; name: string; off: boolean; onMove: () => void }) {
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size={32}
      className={classes.touch}
      data-way={way}
      disabled={off}
      aria-label={way === "up" ? text.moveUp(name) : text.moveDown(name)}
      onClick={onMove}
    >
      {way === "up" ? <ChevronUpIcon /> : <ChevronDownIcon />}
    </ActionIcon>
  );
}
