// From an empty form to an answer: what it begins with, and what is sent of it. Only what a person did, or what the
// schema says itself, becomes part of the answer.

import type { RJSFSchema, SchemaUtilsType } from "@rjsf/utils";

import { strings } from "../../strings";
import { AS_JSON, LABELS, NULLABLE, START } from "./display";
import { isNothing, isObject, type Json, pathOf, resolved, sameJson, type Schema, schemasOf, textsOf } from "./json";
import { fits, type Problem } from "./validator";

/** Stands for JSON text that cannot be read, so that it is neither lost nor sent. */
const UNREAD = "x-unread";

export function unread(text: string): Json {
  return { [UNREAD]: text };
}

export function unreadText(value: Json): string | undefined {
  return isObject(value) && typeof value[UNREAD] === "string" ? value[UNREAD] : undefined;
}

const CHOSEN = "x-chosen-";

/**
 * Beside the members of an object: which branch somebody chose for it, since many objects could be of several. `depth`
 * counts the choices that were made for the same object before.
 */
export function chosen(depth: number, index: number): Record<string, Json> {
  return { [CHOSEN + depth]: index };
}

/** The choices that an object holds, of those before `depth`. */
export function choicesIn(value: Json, depth = Infinity): Record<string, Json> {
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([name]) => isChoice(name) && choiceDepth(name) < depth));
}

export function withoutChoices(value: Json): Json {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !isChoice(name)));
}

function isChoice(name: string): boolean {
  return name.startsWith(CHOSEN);
}

function choiceDepth(name: string): number {
  return Number(name.slice(CHOSEN.length));
}

/** The defaults that the schema states. */
export function startOf(root: Schema, given: Schema): Json {
  const schema = resolved(root, given);
  if (START in schema) return structuredClone(schema[START]);
  if (!isObject(schema["properties"])) return undefined;
  const members = Object.entries(schema["properties"])
    .filter(([, property]) => isObject(property) && !("$ref" in property && !(START in property)))
    .map(([name, property]) => [name, startOf(root, property as Schema)] as const)
    .filter(([, value]) => value !== undefined);
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

/** What choosing one of several branches says by itself: the values that make it this one. */
export function startOfBranch(root: Schema, branches: Schema[], index: number): Json {
  const schema = resolved(root, branches[index] ?? {});
  if (isOnly(schema, null)) return null;
  if (schema[AS_JSON] === "object") return startOf(root, schema) ?? {};
  if (schema["type"] !== "object") return startOf(root, schema);
  const made: Record<string, Json> = { ...(startOf(root, schema) as object) };
  const implied = impliedBy(root, branches, index);
  for (const [name, property] of requiredOf(root, schema)) {
    if (implied.includes(name)) made[name] = onlyValue(property);
    else if (property["type"] === "object" || property[AS_JSON] === "object")
      made[name] ??= startOf(root, property) ?? {};
  }
  return made;
}

/** The members that can only have one value in this branch: null, or one that no other branch has there. */
export function impliedBy(root: Schema, branches: Schema[], index: number): string[] {
  const others = branches.filter((_, other) => other !== index).map((branch) => resolved(root, branch));
  return requiredOf(root, resolved(root, branches[index] ?? {}))
    .filter(([name, property]) => {
      const value = onlyValue(property);
      return value === null || (value !== undefined && others.every((other) => differs(root, other, name, value)));
    })
    .map(([name]) => name);
}

function requiredOf(root: Schema, schema: Schema): [string, Schema][] {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  return textsOf(schema["required"])
    .filter((name) => isObject(properties[name]))
    .map((name) => [name, resolved(root, properties[name] as Schema)]);
}

function onlyValue(schema: Schema): Json {
  if ("const" in schema) return schema["const"];
  const values = schema["enum"];
  return Array.isArray(values) && values.length === 1 ? (values[0] as Json) : undefined;
}

function isOnly(schema: Schema, value: Json): boolean {
  return onlyValue(schema) === value;
}

function differs(root: Schema, branch: Schema, name: string, value: Json): boolean {
  const property = isObject(branch["properties"]) ? branch["properties"][name] : undefined;
  const other = isObject(property) ? onlyValue(resolved(root, property)) : undefined;
  return other !== undefined && !sameJson(other, value);
}

/** The branch that some data is of: the one chosen for it, or else the one it fits; -1 where that may be any. */
export function branchOf(root: Schema, branches: Schema[], whole: Json, depth: number): number {
  const said = isObject(whole) ? whole[CHOSEN + depth] : undefined;
  if (typeof said === "number" && said < branches.length) return said;
  const data = withoutChoices(whole);
  if (data === undefined || (isObject(data) && Object.keys(data).length === 0)) return -1;
  const scores = branches.map((given) => {
    const branch = resolved(root, given);
    if (unreadText(data) !== undefined) return AS_JSON in branch ? 1 : -1;
    if (fits(branch, data, root)) return 1_000;
    if (!isObject(data)) return typeOf(data) === branch["type"] ? 1 : -1;
    const properties = isObject(branch["properties"]) ? branch["properties"] : undefined;
    if (properties === undefined) return -1;
    return Object.entries(data).reduce((score, [name, value]) => {
      const property = properties[name];
      if (!isObject(property)) return score - 1;
      const only = onlyValue(resolved(root, property));
      return only === undefined ? score + 1 : score + (sameJson(only, value) ? 100 : -100);
    }, 0);
  });
  const best = Math.max(...scores);
  return best <= 0 ? -1 : scores.indexOf(best);
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

export interface Finished {
  data: Json;
  /** What cannot be sent at all. */
  problems: Problem[];
}

/** The answer that a form stands for. */
export function finished(utils: SchemaUtilsType, data: Json): Finished {
  const root = utils.getRootSchema() as Schema;
  const problems: Problem[] = [];
  return { data: finish(root, data, true, [], 0), problems };

  function finish(given: Schema, value: Json, required: boolean, path: (string | number)[], depth: number): Json {
    const schema = utils.retrieveSchema(given as RJSFSchema, value) as Schema;
    if (AS_JSON in schema) return asJson(schema, value, required, path);
    if (LABELS in schema) return value;
    const branches = schemasOf(schema["oneOf"] ?? schema["anyOf"]);
    const branch = branches[branchOf(root, branches, value, depth)];
    if (branches.length > 0 && branch === undefined && schema["type"] === undefined && isNothing(value))
      return undefined;
    const whole = branch === undefined ? value : finish(branch, value, required, path, depth + 1);
    switch (schema["type"]) {
      case "object":
        return members(schema, whole, required, path);
      case "array":
        return items(schema, whole, required, path);
      case "boolean":
        // A box that must be answered and is not ticked says no.
        return whole === undefined && required ? false : whole;
      case "number":
      case "integer":
        if (typeof whole === "string") problem(path, numberProblem(whole));
        return whole;
      default:
        if (schema["format"] === "date-time" && typeof whole === "string" && LOCAL.test(whole)) {
          problem(path, strings.form.wrong.noSuchTime);
        }
        return whole;
    }
  }

  function members(schema: Schema, value: Json, required: boolean, path: (string | number)[]): Json {
    if (!required && isNothing(value)) return undefined;
    if (value === null && schema[NULLABLE] === true) return null;
    const made: Record<string, Json> = isObject(value) ? (withoutChoices(value) as Record<string, Json>) : {};
    const needed = new Set(textsOf(schema["required"]));
    for (const [name, property] of Object.entries(isObject(schema["properties"]) ? schema["properties"] : {})) {
      const member = finish(property as Schema, made[name], needed.has(name), [...path, name], 0);
      if (member === undefined) delete made[name];
      else made[name] = member;
    }
    return made;
  }

  function items(schema: Schema, value: Json, required: boolean, path: (string | number)[]): Json {
    if (!Array.isArray(value)) return value === undefined && required ? [] : value;
    if (value.length === 0 && !required && !(START in schema)) return undefined;
    const item = isObject(schema["items"]) ? schema["items"] : {};
    return value.map((each: Json, index) => {
      const made = finish(item, emptied(item, each), true, [...path, index], 0);
      if (made === undefined) problem([...path, index], strings.form.wrong.missing);
      return made ?? null;
    });
  }

  /** The form library writes null for an item that was added and not filled in. */
  function emptied(item: Schema, value: Json): Json {
    const schema = resolved(root, item);
    if (value !== null || schema[NULLABLE] === true || schema[AS_JSON] === "any") return value;
    const values = schema["enum"];
    const branches = schemasOf(schema["oneOf"] ?? schema["anyOf"]).map((branch) => resolved(root, branch));
    return (Array.isArray(values) && values.includes(null)) || branches.some((branch) => isOnly(branch, null))
      ? null
      : undefined;
  }

  function asJson(schema: Schema, value: Json, required: boolean, path: (string | number)[]): Json {
    if (unreadText(value) !== undefined) problem(path, strings.form.wrong.json);
    const data = withoutChoices(value);
    if (data === undefined && required && schema[AS_JSON] === "object") return {};
    return data === undefined && required && schema[AS_JSON] === "array" ? [] : data;
  }

  function problem(path: (string | number)[], message: string): void {
    problems.push({ path: pathOf(path), message });
  }
}

const LOCAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/;
const NUMBER = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The number that was typed, or the text where it is none that can be kept exactly. */
export function numberOf(text: string): number | string {
  const typed = text.trim().replace("\u2212", "-");
  if (!NUMBER.test(typed)) return text;
  const value = Number(typed);
  return Number.isFinite(value) && decimal(typed) === decimal(String(value)) ? value : text;
}

function numberProblem(text: string): string {
  return NUMBER.test(text.trim().replace("\u2212", "-")) ? strings.form.wrong.inexact : strings.form.wrong.number;
}

/** One spelling for each number: its digits, and where the point stands. */
function decimal(text: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const all = whole + fraction;
  const digits = all.replace(/^0+/, "").replace(/0+$/, "");
  if (digits === "") return "0";
  const leading = /^0*/.exec(all)![0].length;
  return `${sign}0.${digits}e${whole.length - leading + Number(exponent)}`;
}
