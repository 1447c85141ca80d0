import { Button, Select, Textarea, TextInput } from "@mantine/core";

import { useAgents, useLists, usePeople, useRequestTypes, type Named } from "../api/names";
import { strings } from "../strings";
import { needsList, type Wanted } from "./ask";
import classes from "./routing.module.css";

const words = strings.routing;

const STRATEGIES = Object.entries(words.strategies).map(choice);
const LIST_STRATEGIES = Object.entries(words.listStrategies).map(choice);

function choice([value, label]: [string, string]) {
  return { value, label };
}

function options(named: Named[]) {
  return named.map(({ id, name }) => ({ value: id, label: name }));
}

interface Props {
  wanted: Wanted;
  onChange: (wanted: Wanted) => void;
  problems: Record<string, string>;
  sending: boolean;
  onSend: () => void;
}

export function AskForm({ wanted, onChange, problems, sending, onSend }: Props) {
  const people = usePeople();
  const agents = useAgents();
  const lists = useLists();
  const types = useRequestTypes();
  const set = (change: Partial<Wanted>) => onChange({ ...wanted, ...change });
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      <Select
        label={words.agent}
        description={words.agentHint}
        data={options(agents)}
        value={wanted.agent}
        error={problems.agent}
        onChange={(agent) => set({ agent })}
        searchable
        required
        limit={100}
      />
      <Select
        label={words.type}
        placeholder={words.automatic}
        data={options(types)}
        value={wanted.type}
        error={problems.request_type}
        onChange={(type) => set({ type })}
        clearable
      />
      <Select
        label={words.runUser}
        description={words.runUserHint}
        placeholder={words.nobody}
        data={options(people)}
        value={wanted.runUser}
        error={problems.run_user}
        onChange={(runUser) => set({ runUser })}
        searchable
        clearable
        limit={100}
      />
      <div className={classes.pair}>
        <TextInput
          label={words.priority}
          description={words.priorityHint}
          inputMode="numeric"
          value={wanted.priority}
          error={problems.priority}
          onChange={({ currentTarget }) => set({ priority: currentTarget.value })}
        />
        <TextInput
          label={words.expires}
          description={words.expiresHint}
          inputMode="decimal"
          value={wanted.minutes}
          error={problems.expires_in_seconds ?? problems.expires_at}
          onChange={({ currentTarget }) => set({ minutes: currentTarget.value })}
        />
      </div>
      <Select
        label={words.strategy}
        data={STRATEGIES}
        value={wanted.strategy}
        error={wanted.strategy === "json" ? undefined : problems.assignment_strategy}
        onChange={(strategy) => set({ strategy: strategy ?? "" })}
        allowDeselect={false}
      />
      {wanted.strategy === "SpecificUser" && (
        <Select
          label={words.person}
          data={options(people)}
          value={wanted.user}
          onChange={(user) => set({ user })}
          searchable
          limit={100}
        />
      )}
      {needsList(wanted.strategy) && (
        <Select
          label={words.list}
          data={options(lists)}
          value={wanted.list}
          onChange={(list) => set({ list })}
          searchable
          limit={100}
        />
      )}
      {wanted.strategy === "List" && (
        <Select
          label={words.listStrategy}
          data={LIST_STRATEGIES}
          value={wanted.listStrategy ?? "RoundRobin"}
          onChange={(listStrategy) => set({ listStrategy })}
          allowDeselect={false}
        />
      )}
      {wanted.strategy === "json" && (
        <Textarea
          label={words.json}
          classNames={{ input: classes.json }}
          placeholder='{"type": "SharedInbox", "listID": "oncall"}'
          value={wanted.json}
          error={problems.assignment_strategy}
          onChange={({ currentTarget }) => set({ json: currentTarget.value })}
          spellCheck={false}
          autosize
          minRows={3}
        />
      )}
      <Textarea
        label={words.message}
        placeholder={words.exampleMessage}
        value={wanted.message}
        error={problems.message}
        onChange={({ currentTarget }) => set({ message: currentTarget.value })}
        autosize
        minRows={2}
      />
      <Button type="submit" loading={sending} className={classes.send}>
        {words.explain}
      </Button>
    </form>
  );
}
