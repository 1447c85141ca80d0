// Why an answer did not arrive, and what can be done about it.

import { Alert, Button, Group, Text } from "@mantine/core";

import type { Refused } from "../api/client";
import { useNames } from "../api/names";
import { exact } from "../lib/time";
import { strings } from "../strings";
import type { Sending } from "./sending";

export function WhyNotSent({ sending }: { sending: Sending }) {
  const names = useNames();
  const { refused, unreachable } = sending;
  if (unreachable) {
    return (
      <Alert color="yellow" p="xs" role="alert">
        <Group gap="sm" justify="space-between">
          <Text size="sm">{strings.form.unreachable}</Text>
          <Button variant="default" size="xs" onClick={sending.again} loading={sending.busy}>
            {strings.form.again}
          </Button>
        </Group>
      </Alert>
    );
  }
  // What is wrong in fields stands there.
  if (refused === null || refused.status === 422) return null;
  return (
    <Alert color="red" p="xs" role="alert">
      <Text size="sm">{told(refused)}</Text>
    </Alert>
  );

  function told({ status, detail, request }: Refused): string {
    const by = typeof request?.["by"] === "string" ? request["by"] : null;
    const at = typeof request?.["at"] === "string" ? exact(request["at"]).split("\n")[0]! : null;
    const claimant = typeof request?.["assigned_to"] === "string" ? request["assigned_to"] : null;
    if (status === 409 && by !== null && at !== null) {
      const how = String(request?.["status"]);
      return strings.form.closedBy(how, by === "system" ? null : names.person(by), at);
    }
    if (status === 409 && claimant !== null) return strings.form.claimedBy(names.person(claimant));
    if (status === 413) return strings.form.tooLarge(detail);
    return strings.form.refused(detail);
  }
}
