import { Anchor, Group, Text } from "@mantine/core";
import { Link } from "wouter";

import { strings } from "../strings";
import classes from "./audit.module.css";
import type { AuditItem } from "./events";
import { movesSomebody, Whom } from "./Whom";

const words = strings.audit;

/** Where nothing written stands beside these, it was erased, or there was none (a sealed answer, no reason given). */
const MAY_HAVE_CONTENT = new Set(["Requested", "Responded", "Cancelled", "Reassigned"]);

/** All that is known of an event: what stays for good, and what was written, until it is erased. */
export function Facts({ event }: { event: AuditItem }) {
  return (
    <div className={classes.facts}>
      {event.request_id !== null && movesSomebody(event) && <Whom event={event} requestId={event.request_id} />}
      <Part title={words.facts} values={{ type: `${event.of}.${event.type}`, at: event.at, ...event.facts }} />
      {(event.content !== null || MAY_HAVE_CONTENT.has(event.type)) && (
        <Part
          title={words.content}
          values={event.content}
          erased={event.type === "Requested" ? words.erased : words.erasedOrNone}
        />
      )}
      {event.request_id !== null && (
        <Group gap="md">
          <Anchor component={Link} href={`/requests/${event.request_id}`} size="sm">
            {words.openRequest}
          </Anchor>
          <Anchor component={Link} href={`/audit?request_id=${event.request_id}`} size="sm">
            {words.allOfRequest}
          </Anchor>
        </Group>
      )}
    </div>
  );
}

interface PartProps {
  title: string;
  values: Record<string, unknown> | null;
  erased?: string;
}

function Part({ title, values, erased }: PartProps) {
  return (
    <section>
      <h3 className={classes.part}>{title}</h3>
      {values === null ? (
        <Text size="sm" c="dimmed">
          {erased}
        </Text>
      ) : (
        <dl className={classes.values}>
          {Object.entries(values).map(([name, value]) => (
            <div key={name}>
              <dt>{name.replaceAll("_", " ")}</dt>
              <dd>{written(value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

/** As text, whatever it is: nothing that anybody wrote is ever taken for markup. */
function written(value: unknown): string {
  if (value === null || value === undefined) return "–";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
