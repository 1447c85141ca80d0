// JSON values and schemas, and finding one's way in them.

export type Json = unknown;
export type Schema = Record<string, unknown>;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isSchema(value: unknown): value is Schema {
  return isObject(value);
}

export function schemasOf(value: unknown): Schema[] {
  return Array.isArray(value) ? value.filter(isSchema) : [];
}

export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/** Equality as JSON has it; a member that is undefined is no member. */
export function sameJson(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) => sameJson(a[key], b[key]));
}

/** Whether nothing at all was filled in. */
export function isNothing(value: Json): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isObject(value)) return Object.values(value).every(isNothing);
  return value === undefined;
}

/** The steps of a path as the server writes it: "period/from", "a~1b/0". */
export function stepsOf(path: string): string[] {
  if (path === "") return [];
  return path.split("/").map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function pathOf(steps: (string | number)[]): string {
  return steps.map((step) => String(step).replaceAll("~", "~0").replaceAll("/", "~1")).join("/");
}

export function at(value: Json, steps: string[]): Json {
  return steps.reduce<Json>((found, step) => {
    if (Array.isArray(found)) return found[Number(step)];
    return isObject(found) && Object.hasOwn(found, step) ? found[step] : undefined;
  }, value);
}

/** What a reference within the schema leads to; undefined where it leads nowhere. */
export function target(root: Schema, reference: string): Schema | undefined {
  if (!reference.startsWith("#")) return undefined;
  const fragment = safelyDecoded(reference.slice(1));
  if (fragment !== "" && !fragment.startsWith("/")) return undefined;
  const found = fragment === "" ? root : at(root, stepsOf(fragment.slice(1)));
  return isSchema(found) ? found : undefined;
}

/** The schema itself, or what its reference leads to. */
export function resolved(root: Schema, schema: Schema): Schema {
  let found = schema;
  for (let hops = 0; hops < 20 && typeof found["$ref"] === "string"; hops += 1) {
    const { $ref, ...beside } = found;
    const next = target(root, $ref as string);
    if (next === undefined) return found;
    found = { ...next, ...beside };
  }
  return found;
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const HOLDS_NAMED = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

/** Every object in a schema that may be a schema; names of fields are not keywords. */
export function* everySchema(schema: Json, named = false): Generator<Schema> {
  if (Array.isArray(schema)) {
    for (const each of schema) yield* everySchema(each);
  } else if (isObject(schema)) {
    if (!named) yield schema;
    for (const [key, value] of Object.entries(schema)) yield* everySchema(value, !named && HOLDS_NAMED.has(key));
  }
}
