// A secret that the server keeps: it can be replaced or taken away, and is never shown.

import { Button, Code, Group, Input, PasswordInput, Text } from "@mantine/core";
import { useId } from "@mantine/hooks";
import { useState } from "react";

import { strings } from "../strings";
import classes from "./Settings.module.css";

const text = strings.settings.slack;

interface Props {
  label: string;
  help: string;
  /** What is stored, masked; null is none. */
  stored: string | null;
  /** As `stored` it stays, null takes it away. */
  value: string | null;
  onChange: (value: string | null) => void;
  error: string | undefined;
}

export function TokenField({ label, help, stored, value, onChange, error }: Props) {
  const id = useId();
  const [replaces, setReplaces] = useState(false);
  const [touched, setTouched] = useState(false); // then the focus goes to what stands here now

  const become = (now: string | null, replacing: boolean) => {
    setTouched(true);
    setReplaces(replacing);
    onChange(now);
  };

  if (stored === null || replaces) {
    return (
      <PasswordInput
        label={label}
        description={help}
        value={value === stored ? "" : (value ?? "")}
        onChange={({ currentTarget }) => onChange(currentTarget.value.trim() || stored)}
        error={error}
        aria-invalid={error !== undefined}
        autoComplete="off"
        spellCheck={false}
        autoFocus={replaces}
        visibilityToggleButtonProps={{ "aria-label": strings.profile.showPassword(label) }}
        inputContainer={(input) => (
          <Group gap="xs" wrap="nowrap">
            <div className={classes.tokenInput}>{input}</div>
            {replaces && (
              <Button variant="subtle" aria-label={text.keep(label)} onClick={() => become(stored, false)}>
                {strings.settings.keep}
              </Button>
            )}
          </Group>
        )}
      />
    );
  }
  const removed = value === null;
  return (
    <Input.Wrapper
      role="group"
      aria-labelledby={`${id}-label`}
      labelElement="div"
      labelProps={{ id: `${id}-label` }}
      label={label}
      description={help}
      error={error}
    >
      <Group gap="xs" className={classes.token}>
        <Text size="sm" className={classes.stored}>
          {removed ? (
            text.removed
          ) : (
            <>
              {text.stored} <Code>{stored}</Code>
            </>
          )}
        </Text>
        {removed ? (
          <Button
            variant="default"
            size="xs"
            aria-label={text.keep(label)}
            onClick={() => become(stored, false)}
            autoFocus
          >
            {strings.settings.keep}
          </Button>
        ) : (
          <>
            <Button
              variant="default"
              size="xs"
              aria-label={text.replace(label)}
              onClick={() => become(stored, true)}
              autoFocus={touched}
            >
              {text.replaceShort}
            </Button>
            <Button
              variant="subtle"
              color="red"
              size="xs"
              aria-label={text.remove(label)}
              onClick={() => become(null, false)}
            >
              {strings.settings.removal.act}
            </Button>
          </>
        )}
      </Group>
    </Input.Wrapper>
  );
}
