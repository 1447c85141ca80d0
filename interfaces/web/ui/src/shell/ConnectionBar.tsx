import { Text } from "@mantine/core";

import { useConnection } from "../live/live";
import { strings } from "../strings";
import classes from "./ConnectionBar.module.css";

/** Says so while what is shown may be out of date. */
export function ConnectionBar() {
  const connection = useConnection();
  const lost = connection === "lost";
  return (
    <div role="status" aria-live="polite" data-connection={connection}>
      {lost && (
        <Text size="sm" className={classes.bar}>
          {strings.shell.lost}
        </Text>
      )}
    </div>
  );
}
