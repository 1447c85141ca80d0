// A dialog for one action: what it does, what it needs, and why it was refused if it was.

import { Alert, Button, Group, Modal, Stack, Text, Textarea } from "@mantine/core";
import type { FormEvent, ReactNode } from "react";

import type { RequestView } from "../api/client";
import { reasonOf } from "../lib/State";
import { strings } from "../strings";
import type { Acting } from "./useAct";

export interface DialogProps {
  id: string;
  request: RequestView;
  onClose: () => void;
}

interface Props {
  title: string;
  how?: string;
  confirm: string;
  back?: string;
  danger?: boolean;
  disabled?: boolean;
  acting: Acting;
  onConfirm: () => void;
  onClose: () => void;
  children: ReactNode;
}

export function ActDialog(props: Props) {
  const { title, how, confirm, back, danger, disabled, acting, onConfirm, onClose, children } = props;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    if (disabled !== true) onConfirm();
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      closeButtonProps={{ "aria-label": strings.request.close }}
      returnFocus={false}
      centered
    >
      <form onSubmit={submit} noValidate>
        <Stack gap="md">
          {how !== undefined && (
            <Text size="sm" c="dimmed">
              {how}
            </Text>
          )}
          {children}
          {acting.error !== null && (
            <Alert color="red" variant="outline" role="alert">
              {reasonOf(acting.error)}
            </Alert>
          )}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              {back ?? strings.act.back}
            </Button>
            <Button type="submit" color={danger === true ? "red.8" : undefined} loading={acting.sending} disabled={disabled}>
              {confirm}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface NoteProps {
  value: string;
  onChange: (text: string) => void;
  label?: string;
  hint?: string;
}

export function Note({ value, onChange, label = strings.act.note, hint = strings.act.noteHint }: NoteProps) {
  return (
    <Textarea
      label={label}
      description={hint}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      autosize
      minRows={2}
      maxRows={8}
    />
  );
}
