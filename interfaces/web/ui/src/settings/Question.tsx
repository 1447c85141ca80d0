// Asked in place before something is lost: the harmless answer has the focus.

import { Button, Group, Paper, Text } from "@mantine/core";
import { useId } from "@mantine/hooks";
import type { ReactNode } from "react";

interface Props {
  question: string;
  children?: ReactNode;
  no: string;
  yes: string;
  onNo: () => void;
  onYes: () => void;
  busy?: boolean;
}

export function Question({ question, children, no, yes, onNo, onYes, busy = false }: Props) {
  const id = useId();
  return (
    <Paper withBorder p="sm" role="alertdialog" aria-labelledby={id}>
      <Text id={id} size="sm" fw={600}>
        {question}
      </Text>
      {children !== undefined && (
        <Text size="sm" component="div" mt={4}>
          {children}
        </Text>
      )}
      <Group justify="end" gap="xs" mt="sm">
        <Button variant="default" onClick={onNo} autoFocus>
          {no}
        </Button>
        <Button color="red.9" onClick={onYes} loading={busy}>
          {yes}
        </Button>
      </Group>
    </Paper>
  );
}
