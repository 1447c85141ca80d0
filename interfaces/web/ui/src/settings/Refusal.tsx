// Why the server did not take it: all that is wrong, also where no field on the page stands for it.

import { Alert, List } from "@mantine/core";

import { Refused } from "../api/client";
import { reasonOf } from "../lib/State";
import { strings } from "../strings";
import classes from "./Settings.module.css";

export function Refusal({ error, title = strings.settings.notSaved }: { error: unknown; title?: string }) {
  if (error === null) return null;
  const errors = error instanceof Refused ? error.errors : [];
  const wait = error instanceof Refused && error.status === 429 ? error.retryAfterSeconds : null;
  return (
    <Alert color="red" variant="outline" title={title} role="alert" p="sm" classNames={{ title: classes.refused }}>
      {errors.length > 0 ? (
        <List size="sm" spacing={2}>
          {errors.map(({ path, message }) => (
            <List.Item key={path + message}>{path === "" ? message : strings.settings.at(path, message)}</List.Item>
          ))}
        </List>
      ) : (
        reasonOf(error)
      )}
      {wait !== null && <div>{strings.settings.waitFor(wait)}</div>}
    </Alert>
  );
}
