// What all forms of an answer have: Enter or the keys of sending send it, a button does, and says which keys.

import { Button, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";

import { strings } from "../strings";
import { isSubmit, SUBMIT_KEYS } from "./keys";

interface Props {
  readOnly: boolean;
  send: () => void;
  children: ReactNode;
}

export function SendingForm({ readOnly, send, children }: Props) {
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (!isSubmit(event) || readOnly) return;
        event.preventDefault();
        send();
      }}
    >
      {children}
    </form>
  );
}

interface BarProps {
  busy: boolean;
  label?: string;
  variant?: "filled" | "default";
}

export function SendBar({ busy, label, variant }: BarProps) {
  return (
    <Group gap="sm">
      <Button type="submit" variant={variant} loading={busy}>
        {label ?? strings.form.send}
      </Button>
      <Text size="xs" c="dimmed" visibleFrom="sm">
        {SUBMIT_KEYS}
      </Text>
    </Group>
  );
}
