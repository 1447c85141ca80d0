import { Button, Radio, ScrollArea, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";

import { strings } from "../strings";
import { Marked } from "../text/Marked";
import type { FormProps } from "./AnswerForm";
import { textOf } from "./drafts";
import classes from "./form.module.css";
import { isSubmit } from "./keys";

const FEW = 6;

/** One of a few, by its button; one of many, found and sent. */
export function OptionsForm(props: FormProps) {
  const options = props.request.options ?? [];
  return options.length <= FEW ? <Few {...props} options={options} /> : <Many {...props} options={options} />;
}

type Props = FormProps & { options: string[] };

function Few({ options, readOnly, sending }: Props) {
  const [pressed, setPressed] = useState<string | null>(null);
  return (
    <Stack gap={6} role="group" aria-label={strings.form.options}>
      {options.map((option) => (
        <Button
          key={option}
          variant="default"
          className={classes.option}
          fullWidth
          disabled={readOnly || sending.busy}
          loading={sending.busy && pressed === option}
          onClick={() => {
            setPressed(option);
            sending.send({ text: option });
          }}
        >
          <Marked text={option} />
        </Button>
      ))}
      <Problem sending={sending} />
    </Stack>
  );
}

function Many({ options, readOnly, sending, draft }: Props) {
  const [chosen, setChosen] = useState<string | null>(textOf(draft) || null);
  const [sought, setSought] = useState("");
  const [missing, setMissing] = useState(false);
  const found = options.filter((option) => option.toLocaleLowerCase().includes(sought.trim().toLocaleLowerCase()));
  const send = () => {
    setMissing(chosen === null);
    if (chosen !== null) sending.send({ text: chosen });
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        const inSearch =
          event.key === "Enter" && event.target instanceof HTMLInputElement && event.target.type === "search";
        if (!inSearch && !isSubmit(event)) return;
        event.preventDefault();
        if (isSubmit(event) && !readOnly) send();
      }}
    >
      <Stack gap="xs">
        <TextInput
          type="search"
          label={strings.form.search}
          value={sought}
          onChange={(event) => setSought(event.currentTarget.value)}
        />
        <Radio.Group
          label={strings.form.options}
          value={chosen}
          readOnly={readOnly}
          error={missing ? strings.form.wrong.choose : undefined}
          onChange={(option) => {
            setChosen(option);
            setMissing(false);
            draft.keep(option);
          }}
        >
          <ScrollArea.Autosize mah={320} type="auto" mt={4}>
            <Stack gap={2}>
              {found.map((option) => (
                <Radio
                  key={option}
                  value={option}
                  disabled={readOnly}
                  className={classes.choice}
                  label={<Marked text={option} />}
                />
              ))}
            </Stack>
          </ScrollArea.Autosize>
        </Radio.Group>
        {found.length === 0 && (
          <Text size="sm" c="dimmed" role="status">
            {strings.form.noneFound}
          </Text>
        )}
        {!readOnly && (
          <Button type="submit" w="fit-content" loading={sending.busy}>
            {strings.form.send}
          </Button>
        )}
        {chosen !== null && !found.includes(chosen) && (
          <Text size="sm">
            {strings.form.chosen} <Marked text={chosen} />
          </Text>
        )}
        <Problem sending={sending} />
      </Stack>
    </form>
  );
}

function Problem({ sending }: Pick<Props, "sending">) {
  const said = sending.problems[0]?.message;
  if (said === undefined) return null;
  return (
    <Text size="sm" c="var(--mantine-color-error)" role="alert">
      {said}
    </Text>
  );
}
