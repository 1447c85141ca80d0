import { Text, Title } from "@mantine/core";
import { PeopleIcon, PersonIcon, ShieldIcon } from "@primer/octicons-react";

import type { Schemas } from "../api/client";
import { useNames } from "../api/names";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import { Decision } from "./Decision";
import classes from "./routing.module.css";

const words = strings.routing;

/** Who would be asked, what would hold for the request, and why. */
export function Explained({ explained }: { explained: Schemas["ExplainedView"] }) {
  const names = useNames();
  const { assignment, assigned_to, list, priority, expires_at } = explained;
  return (
    <>
      <Title order={2} size="h4" className={classes.who}>
        {assigned_to !== null ? <PersonIcon /> : list !== null ? <PeopleIcon /> : <ShieldIcon />}
        {assigned_to !== null
          ? words.wouldAsk(names.person(assigned_to))
          : list !== null
            ? words.wouldShare(names.list(list))
            : words.wouldNobody}
      </Title>
      <dl className={classes.holds}>
        <div>
          <dt>{words.priority}</dt>
          <dd>{priority}</dd>
        </div>
        <div>
          <dt>{words.expiresAt}</dt>
          <dd>{expires_at === null ? words.never : <Time at={expires_at} as="left" />}</dd>
        </div>
      </dl>
      <Text component="h3" size="sm" fw={600}>
        {strings.decision.trace}
      </Text>
      <Decision assignment={assignment} />
    </>
  );
}
