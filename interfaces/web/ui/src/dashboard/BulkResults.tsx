import { Anchor, Button, Group, List, Stack, Text } from "@mantine/core";
import { AlertIcon, CheckIcon } from "@primer/octicons-react";
import { Link } from "wouter";

import type { RequestItem } from "../api/client";
import { plainText } from "../lib/plain-text";
import { strings } from "../strings";
import type { Result } from "./bulk";
import classes from "./bulk.module.css";

const words = strings.bulk;
const SHOWN = 50;

interface Props {
  results: Result[];
  known: ReadonlyMap<string, RequestItem>;
  going: boolean;
  /** null when nothing is left to do. */
  onGoOn: (() => void) | null;
  onClose: () => void;
}

/** How many were done, and which were not, each with its reason. */
export function BulkResults({ results, known, going, onGoOn, onClose }: Props) {
  const refused = results.filter(({ status }) => status >= 400);
  return (
    <Stack gap="sm">
      <div role="status" aria-label={words.result}>
        <Text className={classes.outcome}>
          <CheckIcon /> {words.done(results.length - refused.length)}
        </Text>
        {refused.length > 0 && (
          <Text className={classes.outcome} c="var(--mantine-color-error)">
            <AlertIcon /> {words.refused(refused.length)}
          </Text>
        )}
      </div>
      {refused.length > 0 && (
        <List size="sm" spacing={6} aria-label={words.refusedTitle} className={classes.refused}>
          {refused.slice(0, SHOWN).map(({ id, detail }) => (
            <List.Item key={id}>
              <Anchor component={Link} href={`/requests/${id}`} inherit onClick={onClose}>
                <bdi>{plainText(known.get(id)?.summary ?? id)}</bdi>
              </Anchor>
              : {detail}
            </List.Item>
          ))}
          {refused.length > SHOWN && <List.Item>{strings.dashboard.others(refused.length - SHOWN)}</List.Item>}
        </List>
      )}
      {onGoOn !== null && <Text size="sm">{words.more}</Text>}
      <Group justify="flex-end" gap="xs">
        <Button variant={onGoOn === null ? "filled" : "default"} onClick={onClose} data-autofocus>
          {words.close}
        </Button>
        {onGoOn !== null && (
          <Button loading={going} onClick={onGoOn}>
            {words.goOn}
          </Button>
        )}
      </Group>
    </Stack>
  );
}
