import { Text } from "@mantine/core";

import { useConnection } from "../live/live";
import { strings } from "../strings";
import classes from "./ConnectionBar.module.css";

/** Says so while what is shown may be out of date. */
export function ConnectionBar() {
  const lost = useConnection() === "lost";
  return (
    <div role="status" aria-live="polite">
      {lost && (
        <Text size="sm" className={classes.bar}>
          {strings.shell.lost}
        </Text>
      )}
    </div>
  );
}
