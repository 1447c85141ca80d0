import { Text } from "@mantine/core";

import { useNames } from "../api/names";
import { strings } from "../strings";
import { Collection } from "./Collection";
import { useEntries } from "./entries";
import type { FieldsProps } from "./EntryForm";
import { EntrySelect, PersonSelect } from "./fields";
import { agents, agentTypes, categories, type Agent, type Entry } from "./kinds";

const text = strings.settings;
const BLANK: Agent = { id: "", name: "", owner: null, agent_type: null, category: null };

export function Agents() {
  const { person } = useNames();
  const types = named(useEntries(agentTypes).data);
  const places = named(useEntries(categories).data);
  const nameIn = (among: { id: string; name: string }[], id: string | null) =>
    among.find((each) => each.id === id)?.name ?? id;
  return (
    <Collection
      kind={agents}
      said={text.agents}
      blank={BLANK}
      Fields={AgentFields}
      words={({ owner, agent_type, category }) => [owner, agent_type, category].join("\n")}
      columns={[
        { label: text.owner, always: true, cell: ({ owner }) => <Text size="sm">{person(owner)}</Text> },
        { label: text.agentType, cell: ({ agent_type }) => <Text size="sm">{nameIn(types, agent_type)}</Text> },
        { label: text.category, cell: ({ category }) => <Text size="sm">{nameIn(places, category)}</Text> },
      ]}
    />
  );
}

export function named(entries: Entry[] | undefined): { id: string; name: string }[] {
  return (entries ?? []).map(({ id, name }) => ({ id, name: name ?? id }));
}

function AgentFields({ values, set, problem }: FieldsProps<Agent>) {
  const types = named(useEntries(agentTypes).data);
  const places = named(useEntries(categories).data);
  return (
    <>
      <PersonSelect
        label={text.owner}
        description={text.ownerHelp}
        value={values.owner}
        onChange={(owner) => set({ owner })}
        error={problem("owner")}
      />
      <EntrySelect
        label={text.agentType}
        entries={types}
        value={values.agent_type}
        onChange={(agent_type) => set({ agent_type })}
        error={problem("agent_type")}
      />
      <EntrySelect
        label={text.category}
        description={text.categoryHelp}
        entries={places}
        value={values.category}
        onChange={(category) => set({ category })}
        error={problem("category")}
      />
    </>
  );
}
