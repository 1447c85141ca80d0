// The words that a response schema has for what it asks.

export type Schema = Record<string, unknown>;

function object(value: unknown): Schema | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : null;
}

export function propertyOf(schema: Schema | null, name: string): Schema | null {
  const properties = object(schema?.properties);
  return properties !== null && Object.hasOwn(properties, name) ? object(properties[name]) : null;
}

export function titleOf(schema: Schema | null): string | null {
  return typeof schema?.title === "string" && schema.title !== "" ? schema.title : null;
}

/** The title of the choice that has this value, where choices have titles. */
export function choiceTitle(schema: Schema | null, value: unknown): string | null {
  for (const choices of [schema?.oneOf, schema?.anyOf]) {
    if (!Array.isArray(choices)) continue;
    for (const choice of choices.map(object)) {
      if (choice !== null && "const" in choice && choice.const === value) return titleOf(choice);
    }
  }
  return null;
}
