// All webhooks there are, and how the last delivery of each went.

import { Anchor, Button, Group, Modal, Stack, Table, Text, Title } from "@mantine/core";
import { PlusIcon } from "@primer/octicons-react";
import { useRef, useState } from "react";
import { Link } from "wouter";

import { useNames } from "../api/names";
import { Empty, Failure, Loading } from "../lib/State";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import { AddWebhook } from "./AddWebhook";
import { AsOf } from "./AsOf";
import { FormDrawer } from "./FormDrawer";
import { Outcome } from "./Outcome";
import classes from "./Settings.module.css";
import { ShownSecret } from "./ShownSecret";
import { useWebhooks } from "./webhook-data";

const text = strings.settings;
const words = text.webhooks;

export function Webhooks() {
  const names = useNames();
  const found = useWebhooks();
  const [adds, setAdds] = useState(false);
  const made = useRef<string | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const webhooks = found.data ?? [];
  return (
    <Stack gap="sm">
      <Group justify="space-between" align="end">
        <div>
          <Title order={1} size="h3">
            {words.title}
          </Title>
          <Text size="sm" c="dimmed">
            {words.help}
          </Text>
        </div>
        <Button leftSection={<PlusIcon />} onClick={() => setAdds(true)}>
          {words.add}
        </Button>
      </Group>
      {found.isPending ? (
        <Loading />
      ) : found.data === undefined ? (
        <Failure error={found.error} retry={() => void found.refetch()} />
      ) : (
        <>
          <AsOf found={found} />
          {webhooks.length === 0 ? (
            <Empty title={words.none} />
          ) : (
            <Table className={classes.table} highlightOnHover verticalSpacing={6}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th w="28%">{text.agent}</Table.Th>
                  <Table.Th visibleFrom="sm">{words.url}</Table.Th>
                  <Table.Th className={classes.word}>{text.state}</Table.Th>
                  <Table.Th>{words.lastDelivery}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {webhooks.map(({ agent, url, enabled, last }) => (
                  <Table.Tr key={agent}>
                    <Table.Td>
                      <Anchor
                        component={Link}
                        href={`/settings/webhooks/${agent}`}
                        c="inherit"
                        className={classes.name}
                      >
                        {names.agent(agent)}
                      </Anchor>
                      <div className={classes.id}>{agent}</div>
                    </Table.Td>
                    <Table.Td visibleFrom="sm">
                      <Text size="sm" className={classes.message}>
                        {url}
                      </Text>
                    </Table.Td>
                    <Table.Td>
                      <Text size="sm" c={enabled ? undefined : "dimmed"}>
                        {enabled ? words.isOn : words.isOff}
                      </Text>
                    </Table.Td>
                    <Table.Td>
                      {last === null ? (
                        <Text size="sm" c="dimmed">
                          {words.nothingSent}
                        </Text>
                      ) : (
                        <Outcome of={last}>
                          <Time at={last.at} />
                        </Outcome>
                      )}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )}
        </>
      )}
      <FormDrawer
        opened={adds}
        title={words.add}
        onClose={() => setAdds(false)}
        onClosed={() => {
          setSecret(made.current);
          made.current = null;
        }}
      >
        {(drawer) => (
          <AddWebhook
            taken={webhooks.map(({ agent }) => agent)}
            onMade={(secret) => (made.current = secret)}
            {...drawer}
          />
        )}
      </FormDrawer>
      <Modal
        opened={secret !== null}
        onClose={() => setSecret(null)}
        title={words.newSecret}
        size="lg"
        closeOnClickOutside={false}
        closeButtonProps={{ "aria-label": text.close }}
      >
        {secret !== null && <ShownSecret value={secret} onStored={() => setSecret(null)} />}
      </Modal>
    </Stack>
  );
}
