import { Button, Group, PasswordInput, Stack, Text } from "@mantine/core";
import { useState, type FormEvent } from "react";

import { answer, api, type FieldProblem } from "../api/client";
import { useSignedIn } from "../api/session";
import { say } from "../lib/notify";
import { strings } from "../strings";
import { problemAt, problemsOf } from "./draft";
import { useLeaveGuard } from "./guard";
import { Refusal } from "./Refusal";

const text = strings.profile;

export function PasswordForm() {
  const { me } = useSignedIn();
  const [current, setCurrent] = useState("");
  const [fresh, setFresh] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [problems, setProblems] = useState<FieldProblem[]>([]);
  const [busy, setBusy] = useState(false);
  useLeaveGuard(fresh !== "");
  const problem = problemAt(problems);

  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(null);
    setProblems([]);
    try {
      // Who has none yet gives none.
      const known = current === "" ? {} : { current_password: current };
      await answer(api.PATCH("/api/me", { body: { password: fresh, ...known } }));
      setCurrent("");
      setFresh("");
      say(text.passwordSet);
    } catch (reason) {
      setError(reason);
      setProblems(problemsOf(reason));
    } finally {
      setBusy(false);
    }
  };

  return (
    <form onSubmit={(event) => void save(event)} noValidate>
      <Stack gap="sm">
        <input type="text" name="username" autoComplete="username" value={me.id} readOnly hidden />
        <PasswordInput
          label={text.currentPassword}
          description={text.currentPasswordHelp}
          autoComplete="current-password"
          value={current}
          onChange={({ currentTarget }) => setCurrent(currentTarget.value)}
          error={problem("current_password")}
          aria-invalid={problem("current_password") !== undefined}
          visibilityToggleButtonProps={{ "aria-label": text.showPassword(text.currentPassword) }}
        />
        <PasswordInput
          label={text.newPassword}
          description={text.newPasswordHelp}
          autoComplete="new-password"
          value={fresh}
          onChange={({ currentTarget }) => setFresh(currentTarget.value)}
          error={problem("password")}
          aria-invalid={problem("password") !== undefined}
          visibilityToggleButtonProps={{ "aria-label": text.showPassword(text.newPassword) }}
        />
        <Refusal error={error} />
        <Group justify="space-between">
          <Text size="xs" c="dimmed">
            {text.othersEnd}
          </Text>
          <Button type="submit" variant="default" loading={busy}>
            {text.setPassword}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
