// Something to take along, such as a link or a key: read only, and copied at the press of a button.

import { Button, Group, TextInput } from "@mantine/core";
import { CheckIcon, CopyIcon } from "@primer/octicons-react";
import { useRef, useState } from "react";

import { strings } from "../strings";
import { copy } from "../text/copy";

const text = strings.settings;

export function Copyable({ label, value }: { label: string; value: string }) {
  const field = useRef<HTMLInputElement>(null);
  const [state, setState] = useState<"" | "copied" | "by hand">("");
  const take = async () => {
    const copied = await copy(value);
    if (!copied) field.current?.select();
    setState(copied ? "copied" : "by hand");
  };
  return (
    <>
      <Group align="end" gap="xs" wrap="nowrap">
        <TextInput
          ref={field}
          label={label}
          value={value}
          readOnly
          flex={1}
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
        <Button variant="default" leftSection={state === "copied" ? <CheckIcon /> : <CopyIcon />} onClick={take}>
          {text.copy}
        </Button>
      </Group>
      <div role="status">{state === "copied" ? text.copied : state === "by hand" ? text.copyByHand : ""}</div>
    </>
  );
}
