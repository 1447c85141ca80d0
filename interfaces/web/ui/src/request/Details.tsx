// Ids and times, and what the agent noted besides.

import { Time } from "../lib/Time";
import type { RequestView } from "../api/client";
import { strings } from "../strings";
import { CodeBlock } from "../text/CodeBlock";
import { Marked } from "../text/Marked";
import { Fold } from "./Fold";
import classes from "./request.module.css";
import { useWho } from "./who";

const FIELDS = ["id", "unique_id", "run_id", "run_step_id", "run_user"] as const;
const TIMES = ["created_at", "expires_at", "closed_at"] as const;

export function Details({ request }: { request: RequestView }) {
  const who = useWho();
  const { metadata } = request;
  return (
    <>
      {metadata !== null && Object.keys(metadata).length > 0 && (
        <Fold title={strings.request.metadata}>
          <dl className={classes.pairs}>
            {Object.entries(metadata).map(([name, value]) => (
              <div key={name}>
                <dt>
                  <Marked text={name} />
                </dt>
                <dd>
                  {typeof value === "object" && value !== null ? (
                    <CodeBlock code={JSON.stringify(value, null, 2)} language="json" />
                  ) : (
                    <span className={classes.written} dir="auto">
                      <Marked text={String(value)} />
                    </span>
                  )}
                </dd>
              </div>
            ))}
          </dl>
        </Fold>
      )}
      <Fold title={strings.request.details}>
        <dl className={classes.pairs}>
          {FIELDS.map((field) => {
            const value = request[field];
            if (value === null) return null;
            return (
              <div key={field}>
                <dt>{strings.request.fields[field]}</dt>
                <dd>
                  <Marked text={field === "run_user" ? who.target(value) : value} />
                </dd>
              </div>
            );
          })}
          {TIMES.map((field) => {
            const at = request[field];
            if (at === null) return null;
            return (
              <div key={field}>
                <dt>{strings.request.fields[field]}</dt>
                <dd>
                  <Time at={at} as="clock" />
                </dd>
              </div>
            );
          })}
        </dl>
      </Fold>
    </>
  );
}
