// What stands where content is not there yet, or cannot be.

import { Button, Center, Loader, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

import { Refused, Unreachable } from "../api/client";
import { strings } from "../strings";

export function Loading() {
  return (
    <Center p="xl" role="status" aria-label={strings.shell.loading}>
      <Loader size="sm" />
    </Center>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Center p="xl">
      <Stack gap={4} align="center" maw={420} ta="center">
        <Title order={2} size="h4">
          {title}
        </Title>
        <Text c="dimmed" size="sm" component="div">
          {children}
        </Text>
      </Stack>
    </Center>
  );
}

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <Center p="xl" role="alert">
      <Stack gap="sm" align="center" maw={480} ta="center">
        <Text fw={600}>{strings.shell.failed}</Text>
        <Text c="dimmed" size="sm">
          {reasonOf(error)}
        </Text>
        {retry !== undefined && (
          <Button variant="default" size="xs" onClick={retry}>
            {strings.shell.retry}
          </Button>
        )}
      </Stack>
    </Center>
  );
}

/** What to tell a person of a failed call. */
export function reasonOf(error: unknown): string {
  if (error instanceof Refused) return error.detail;
  if (error instanceof Unreachable) return strings.shell.unreachable;
  return strings.shell.crashed;
}
