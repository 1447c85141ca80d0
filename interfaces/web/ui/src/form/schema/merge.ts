// The parts of an `allOf` as one schema to show. Where they contradict each other the later part is shown; whether an
// answer satisfies all of them is for the validators.

import { isObject, type Schema, schemasOf, textsOf } from "./json";

export function mergeAllOf({ allOf, ...schema }: Schema): Schema {
  return [...schemasOf(allOf)].reduce(
    (merged, part) => merge(merged, part["allOf"] === undefined ? part : mergeAllOf(part)),
    schema,
  );
}

function merge(first: Schema, second: Schema): Schema {
  const merged: Schema = { ...second, ...first };
  for (const key of [
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "enum",
    "x-labels",
    "if",
    "then",
    "else",
  ]) {
    if (key in second) merged[key] = second[key];
  }
  if (isObject(first["properties"]) || isObject(second["properties"])) {
    merged["properties"] = members(first["properties"], second["properties"]);
  }
  const required = new Set([...textsOf(first["required"]), ...textsOf(second["required"])]);
  if (required.size > 0) merged["required"] = [...required];
  return merged;
}

function members(first: unknown, second: unknown): Schema {
  const merged: Schema = isObject(first) ? { ...first } : {};
  for (const [name, schema] of Object.entries(isObject(second) ? second : {})) {
    const before = merged[name];
    merged[name] = isObject(before) && isObject(schema) ? merge(before, schema) : schema;
  }
  return merged;
}
