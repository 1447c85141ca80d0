import { Badge, Button, Modal, SegmentedControl, Stack, Text, TextInput } from "@mantine/core";
import { useId } from "@mantine/hooks";
import { useRef, useState } from "react";

import { useAgents, useNames } from "../api/names";
import { useNow } from "../lib/time";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import { Collection } from "./Collection";
import type { FieldsProps } from "./EntryForm";
import { EntrySelect, PersonSelect } from "./fields";
import { keys, type Body, type Key } from "./kinds";
import { RotateKey } from "./RotateKey";
import { ShownKey } from "./ShownKey";

const text = strings.settings;

const BLANK: Key = {
  id: "",
  name: "",
  agent: null,
  user: null,
  run_user: null,
  expires_at: null,
  revoked: false,
  created_at: "",
  last_used_at: null,
};

interface Made {
  key: string;
  isAgents: boolean;
}

export function Keys() {
  const names = useNames();
  const made = useRef<Made | null>(null);
  const [shown, setShown] = useState<Made | null>(null);
  const [opened, setOpened] = useState(false);
  const kind = {
    ...keys,
    add: async (body: Body) => {
      const created = await keys.add(body);
      made.current = { key: (created as unknown as { key: string }).key, isAgents: "agent" in body };
      return created;
    },
  };
  return (
    <>
      <Collection
        kind={kind}
        said={text.keys}
        blank={BLANK}
        Fields={KeyFields}
        removable={({ revoked }) => !revoked}
        removal={text.keys.removal}
        words={({ agent, user, run_user }) => [agent, user, run_user].join("\n")}
        onClosed={() => {
          if (made.current === null) return;
          setShown(made.current);
          setOpened(true);
          made.current = null;
        }}
        columns={[
          {
            label: text.belongsTo,
            always: true,
            cell: ({ agent, user, run_user }) => (
              <Text size="sm">
                {agent === null ? names.person(user) : names.agent(agent)}
                {run_user !== null && (
                  <Text span c="dimmed" size="sm">
                    {` ${text.forRunsOf(names.person(run_user))}`}
                  </Text>
                )}
              </Text>
            ),
          },
          { label: text.state, always: true, cell: (key) => <KeyState of={key} /> },
          { label: text.created, cell: ({ created_at }) => <Time at={created_at} size="sm" /> },
          {
            label: text.lastUsed,
            cell: ({ last_used_at }) =>
              last_used_at === null ? (
                <Text size="sm" c="dimmed">
                  {text.neverUsed}
                </Text>
              ) : (
                <Time at={last_used_at} size="sm" />
              ),
          },
        ]}
      />
      <Modal
        opened={opened}
        onClose={() => setOpened(false)}
        title={text.newKey}
        size="lg"
        closeOnClickOutside={false}
        closeButtonProps={{ "aria-label": text.close }}
      >
        {shown !== null && (
          <Stack gap="sm">
            <ShownKey value={shown.key} isAgents={shown.isAgents} />
            <Button onClick={() => setOpened(false)}>{text.storedIt}</Button>
          </Stack>
        )}
      </Modal>
    </>
  );
}

function KeyState({ of: key }: { of: Key }) {
  const now = useNow();
  if (key.revoked) {
    return (
      <Badge variant="default" radius="sm">
        {text.revoked}
      </Badge>
    );
  }
  if (key.expires_at === null) return <Text size="sm">{text.works}</Text>;
  const isOver = Date.parse(key.expires_at) <= now;
  return (
    <Text size="sm" c={isOver ? "dimmed" : undefined}>
      {isOver ? text.expired : text.until} <Time at={key.expires_at} as="clock" />
    </Text>
  );
}

function KeyFields({ values, set, problem, entry }: FieldsProps<Key>) {
  const agents = useAgents();
  const names = useNames();
  const id = useId();
  const [owner, setOwner] = useState<"agent" | "user">("agent");
  const end = (
    <TextInput
      type="datetime-local"
      label={text.expires}
      description={text.expiresHelp}
      value={localTime(values.expires_at)}
      onChange={({ currentTarget }) => set({ expires_at: instantOf(currentTarget.value) })}
      error={problem("expires_at")}
    />
  );
  if (entry !== null) {
    return (
      <>
        <Text size="sm">
          {text.belongsTo}: {entry.agent === null ? names.person(entry.user) : names.agent(entry.agent)}
          {entry.run_user !== null && ` ${text.forRunsOf(names.person(entry.run_user))}`}
        </Text>
        {end}
        {!entry.revoked && <RotateKey of={entry} />}
      </>
    );
  }
  return (
    <>
      <Text id={id} size="sm" fw={600} mb={-12}>
        {text.belongsTo}
      </Text>
      <SegmentedControl
        aria-labelledby={id}
        value={owner}
        onChange={(now) => {
          setOwner(now as "agent" | "user");
          set({ agent: null, user: null, run_user: null });
        }}
        data={[
          { value: "agent", label: text.anAgent },
          { value: "user", label: text.aPerson },
        ]}
      />
      {owner === "agent" ? (
        <>
          <EntrySelect
            label={text.agent}
            entries={agents}
            value={values.agent}
            onChange={(agent) => set({ agent })}
            error={problem("agent")}
          />
          <PersonSelect
            label={text.runUser}
            description={text.runUserHelp}
            value={values.run_user}
            onChange={(run_user) => set({ run_user })}
            error={problem("run_user")}
          />
        </>
      ) : (
        <PersonSelect
          label={text.person}
          description={text.personKeyHelp}
          value={values.user}
          onChange={(user) => set({ user })}
          error={problem("user")}
        />
      )}
      {end}
    </>
  );
}

/** As the field for it wants it: in the zone of who looks, without one. */
function localTime(iso: string | null): string {
  if (iso === null) return "";
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function instantOf(local: string): string | null {
  return local === "" ? null : new Date(local).toISOString();
}
