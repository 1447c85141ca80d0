import { TextInput } from "@mantine/core";

import { strings } from "../strings";

const text = strings.settings.webhooks;

interface Props {
  value: string;
  onChange: (url: string) => void;
  error: string | undefined;
}

/** Where a webhook leads. */
export function UrlField({ value, onChange, error }: Props) {
  return (
    <TextInput
      type="url"
      label={text.url}
      description={text.urlHelp}
      placeholder="https://example.com/handraise"
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value.trim())}
      error={error}
      autoComplete="off"
      spellCheck={false}
    />
  );
}
