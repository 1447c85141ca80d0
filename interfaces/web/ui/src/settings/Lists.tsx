import { Text } from "@mantine/core";

import { useNames } from "../api/names";
import { strings } from "../strings";
import { Collection } from "./Collection";
import type { FieldsProps } from "./EntryForm";
import { lists, type MemberList } from "./kinds";
import { MemberOrder } from "./MemberOrder";

const text = strings.settings;
const BLANK: MemberList = { id: "", name: "", members: [] };
const SHOWN = 5;

export function Lists() {
  const names = useNames();
  return (
    <Collection
      kind={lists}
      said={text.lists}
      blank={BLANK}
      Fields={ListFields}
      words={({ members }) => members.map((id) => `${id} ${names.person(id)}`).join("\n")}
      columns={[
        {
          label: text.members,
          always: true,
          cell: ({ members }) => (
            <Text size="sm" c={members.length === 0 ? "dimmed" : undefined}>
              {members.length === 0
                ? text.nobody
                : text.someOf(members.slice(0, SHOWN).map(names.person), members.length - SHOWN)}
            </Text>
          ),
        },
      ]}
    />
  );
}

function ListFields({ values, set, problem }: FieldsProps<MemberList>) {
  return <MemberOrder members={values.members} onChange={(members) => set({ members })} problem={problem} />;
}
