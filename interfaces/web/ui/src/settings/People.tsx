import { Button, Group, NativeSelect, Stack, Switch, Text, TextInput } from "@mantine/core";
import { useState } from "react";

import { answer, api, type Schemas } from "../api/client";
import { complain } from "../lib/notify";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import { AvailabilityFields } from "./AvailabilityFields";
import { Collection } from "./Collection";
import { Copyable } from "./Copyable";
import type { FieldsProps } from "./EntryForm";
import { people, type Person } from "./kinds";

const text = strings.settings;

const ROLES = ["member", "administrator", "auditor"] as const;

const BLANK: Person = {
  id: "",
  name: "",
  email: null,
  role: "member",
  active: true,
  time_zone: null,
  quiet_hours: null,
  out_of_office: null,
  slack_user_id: null,
};

export function People() {
  return (
    <Collection
      kind={people}
      said={text.people}
      blank={BLANK}
      Fields={PersonFields}
      removal={text.people.removal}
      words={({ email, role }) => `${email ?? ""}\n${role}`}
      columns={[
        { label: text.email, cell: ({ email }) => <Text size="sm">{email}</Text> },
        { label: text.role, cell: ({ role }) => <Text size="sm">{text.roles[role]}</Text> },
        {
          label: text.state,
          always: true,
          cell: ({ active, out_of_office }) => (
            <Text size="sm" c={active ? undefined : "dimmed"}>
              {active ? (out_of_office === null ? text.isActive : text.awayFromTo(out_of_office)) : text.isInactive}
            </Text>
          ),
        },
      ]}
    />
  );
}

function PersonFields({ values, set, problem, entry }: FieldsProps<Person>) {
  return (
    <>
      <TextInput
        type="email"
        label={text.email}
        autoComplete="off"
        value={values.email ?? ""}
        onChange={({ currentTarget }) => set({ email: currentTarget.value || null })}
        error={problem("email")}
      />
      <NativeSelect
        label={text.role}
        description={text.roleHelp[values.role]}
        value={values.role}
        onChange={({ currentTarget }) => set({ role: currentTarget.value as Person["role"] })}
        data={ROLES.map((role) => ({ value: role, label: text.roles[role] }))}
        error={problem("role")}
      />
      <Switch
        label={text.active}
        description={text.activeHelp}
        checked={values.active}
        onChange={({ currentTarget }) => set({ active: currentTarget.checked })}
        error={problem("active")}
      />
      <AvailabilityFields values={values} set={set} problem={problem} />
      {entry !== null && <SignInLink person={entry} />}
    </>
  );
}

function SignInLink({ person }: { person: Person }) {
  const [link, setLink] = useState<Schemas["LinkView"] | null>(null);
  const [busy, setBusy] = useState(false);
  const make = async () => {
    setBusy(true);
    try {
      setLink(await answer(api.POST("/api/users/{id}/link", { params: { path: { id: person.id } } })));
    } catch (error) {
      complain(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stack gap="xs">
      <Group>
        <Button variant="default" onClick={() => void make()} loading={busy}>
          {text.makeLink}
        </Button>
      </Group>
      {link !== null && (
        <>
          <Copyable label={text.link(person.name ?? person.id)} value={link.url} />
          <Text size="sm" c="dimmed">
            {text.linkHelp} {text.until} <Time at={link.expires_at} as="clock" />.
          </Text>
        </>
      )}
    </Stack>
  );
}
