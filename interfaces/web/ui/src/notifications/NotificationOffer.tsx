// One quiet line that offers to tell people in the browser; never asked without a click.

import { Button, Group, Text } from "@mantine/core";
import { BellIcon } from "@primer/octicons-react";

import { useSignedIn } from "../api/session";
import { strings } from "../strings";
import classes from "./NotificationOffer.module.css";
import { choose, useChoice, usePermission } from "./permission";
import { turnOn } from "./turn-on";

export function NotificationOffer() {
  const { mayAct } = useSignedIn();
  const { declined } = useChoice();
  if (usePermission() !== "default" || declined || !mayAct) return null;
  return (
    <Group className={classes.offer} gap="xs" role="region" aria-label={strings.notifications.heading}>
      <BellIcon />
      <Text size="sm" className={classes.words}>
        {strings.notifications.offer}
      </Text>
      <Button size="compact-sm" onClick={() => void turnOn()}>
        {strings.notifications.turnOn}
      </Button>
      <Button size="compact-sm" variant="default" onClick={() => choose({ declined: true })}>
        {strings.notifications.notNow}
      </Button>
    </Group>
  );
}
