// Why this person, or these: the decision, and how it was come to.

import type { RequestView } from "../api/client";
import { Decision } from "../routing/Decision";
import { strings } from "../strings";
import { Fold } from "./Fold";
import classes from "./request.module.css";
import { useWho } from "./who";

export function WhySection({ request }: { request: RequestView }) {
  const who = useWho();
  const { level, chosen } = request.assignment;
  const title = who.isMe(request.assigned_to)
    ? strings.request.why
    : request.assigned_to === null
      ? strings.request.whyList
      : strings.request.whyNotMe;
  return (
    <Fold title={title}>
      <dl className={classes.pairs}>
        <div>
          <dt>{strings.decision.level}</dt>
          <dd>{strings.decision.levels[level] ?? level}</dd>
        </div>
        {chosen !== null && (
          <div>
            <dt>{strings.decision.chosen}</dt>
            <dd>{who.target(chosen)}</dd>
          </div>
        )}
      </dl>
      <Decision assignment={request.assignment} />
    </Fold>
  );
}
