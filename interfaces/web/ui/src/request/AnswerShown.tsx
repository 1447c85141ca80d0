// An answer as people read it: outcome, text, and data under the titles that its form had.

import { Text } from "@mantine/core";

import { Time } from "../lib/Time";
import { strings } from "../strings";
import { CodeBlock } from "../text/CodeBlock";
import { Marked } from "../text/Marked";
import classes from "./request.module.css";
import { choiceTitle, propertyOf, titleOf, type Schema } from "./schema-words";

export interface Shown {
  outcome: "approved" | "rejected" | "answered";
  text: string | null;
  data?: unknown;
}

export function AnswerShown({ response, schema }: { response: Shown; schema: Schema | null }) {
  const { outcome, text, data } = response;
  const fields = fieldsOf(data, schema);
  return (
    <div className={classes.values}>
      {outcome !== "answered" && <Text fw={650}>{strings.request.outcome[outcome]}</Text>}
      {text !== null && (
        <div className={classes.written} dir="auto">
          <Marked text={text} />
        </div>
      )}
      {fields !== null && <Fields fields={fields} schema={schema} />}
      {fields === null && isWorthShowing(response, schema) && <Value of={data} schema={schema} />}
    </div>
  );
}

/** Options and plain approvals say in their text and outcome all that is in their data. */
function isWorthShowing({ text, data }: Shown, schema: Schema | null): boolean {
  return data !== null && data !== undefined && (schema !== null || text === null);
}

function fieldsOf(data: unknown, schema: Schema | null): Record<string, unknown> | null {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return null;
  const all = Object.entries(data as Record<string, unknown>);
  if (schema !== null) return Object.fromEntries(all);
  if ("option" in data && "index" in data) return null;
  const rest = all.filter(([name, value]) => name !== "approved" && value !== null);
  return "approved" in data ? Object.fromEntries(rest) : Object.fromEntries(all);
}

function Fields({ fields, schema }: { fields: Record<string, unknown>; schema: Schema | null }) {
  const entries = Object.entries(fields);
  if (entries.length === 0) return null;
  return (
    <dl className={classes.pairs}>
      {entries.map(([name, value]) => {
        const property = propertyOf(schema, name);
        return (
          <div key={name}>
            <dt>
              <Marked text={titleOf(property) ?? (schema === null && name === "note" ? strings.act.note : name)} />
            </dt>
            <dd>
              <Value of={value} schema={property} />
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

function Value({ of, schema }: { of: unknown; schema: Schema | null }) {
  const title = choiceTitle(schema, of);
  if (title !== null) return <Marked text={title} />;
  if (of === null || of === "") return <Text span c="dimmed" inherit>{strings.request.empty}</Text>;
  if (typeof of === "boolean") return of ? strings.request.yes : strings.request.no;
  if (typeof of === "number") return String(of);
  if (typeof of === "string") {
    const isInstant = schema?.format === "date-time" && !Number.isNaN(Date.parse(of));
    return isInstant ? (
      <Time at={of} as="clock" />
    ) : (
      <span className={classes.written} dir="auto">
        <Marked text={of} />
      </span>
    );
  }
  if (Array.isArray(of) && of.length > 0 && of.every((each) => typeof each !== "object" || each === null)) {
    const items = schema !== null && typeof schema.items === "object" ? (schema.items as Schema) : null;
    return (
      <ul className={classes.items}>
        {of.map((each, index) => (
          <li key={index}>
            <Value of={each} schema={items} />
          </li>
        ))}
      </ul>
    );
  }
  return <CodeBlock code={JSON.stringify(of, null, 2)} language="json" />;
}
