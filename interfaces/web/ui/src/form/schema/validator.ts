// Validation that interprets: the content security policy forbids compiled validators. The server has the last word, so
// what this cannot judge exactly as the server does is let through.

import { type Schema as Checked, type SchemaDraft, Validator } from "@cfworker/json-schema";
import type { ValidationData, ValidatorType } from "@rjsf/utils";

import { strings } from "../../strings";
import { at, isObject, type Json, pathOf, resolved, type Schema, stepsOf } from "./json";

export interface Problem {
  /** As in the server's errors, below "data": "period/from". */
  path: string;
  message: string;
}

const ROOT = "https://form.invalid/root";

/** For the parts of the form library that ask which branch some data fits. */
export const validator: ValidatorType = {
  isValid: (schema, data, root) => fits(schema as Schema, data, root as Schema),
  validateFormData: () => ({ errors: [], errorSchema: {} }) as ValidationData<unknown>,
  rawValidation: () => ({ errors: [] }),
};

/** Whether `data` satisfies a part of the schema `root`; not, where that cannot be told. */
export function fits(schema: Schema, data: Json, root: Schema): boolean {
  try {
    const checker = new Validator(anchored(schema) as Checked, "2020-12");
    checker.addSchema(anchored(root) as Checked, ROOT);
    return data === undefined ? false : checker.validate(asSent(data)).valid;
  } catch {
    return false;
  }
}

function anchored(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(anchored);
  if (!isObject(schema)) return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, anchored(value)]));
  if (typeof copy["$ref"] === "string" && copy["$ref"].startsWith("#")) copy["$ref"] = ROOT + copy["$ref"];
  delete copy["$id"];
  return copy;
}

function asSent(data: Json): Json {
  return JSON.parse(JSON.stringify(data)) as Json;
}

/** What is plainly wrong with an answer; what is not plain is for the server to say. */
export function problemsOf(schema: Schema, data: Json): Problem[] {
  try {
    const checker = new Validator(withoutPatterns(schema) as Checked, draftOf(schema), false);
    const found = new Map<string, string>();
    for (const { instanceLocation, keywordLocation } of checker.validate(asSent(data)).errors) {
      const told = explained(schema, keywordLocation, stepsOf(instanceLocation.replace(/^#\/?/, "")), data);
      if (told !== undefined && !found.has(told.path)) found.set(told.path, told.message);
    }
    return [...found].map(([path, message]) => ({ path, message }));
  } catch {
    return [];
  }
}

/** The server's patterns and formats are not this browser's. */
function withoutPatterns(schema: Json, named = false): Json {
  if (Array.isArray(schema)) return schema.map((each) => withoutPatterns(each));
  if (!isObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([key]) => named || (key !== "pattern" && key !== "format"));
  return Object.fromEntries(
    kept.map(([key, value]) => {
      const isData = !named && (key === "const" || key === "enum" || key === "default" || key === "examples");
      const holdsNamed = !named && (key === "properties" || key === "$defs" || key === "definitions");
      return [key, isData ? structuredClone(value) : withoutPatterns(value, holdsNamed)];
    }),
  );
}

function draftOf(schema: Schema): SchemaDraft {
  const dialect = typeof schema["$schema"] === "string" ? schema["$schema"] : "";
  if (dialect.includes("draft-04")) return "4";
  if (dialect.includes("draft-07") || dialect.includes("draft-06")) return "7";
  return dialect.includes("2019-09") ? "2019-09" : "2020-12";
}

const WHERE_ALL_APPLIES = new Set(["properties", "items", "prefixItems", "$ref", "allOf"]);

function explained(root: Schema, keywordLocation: string, path: string[], data: Json): Problem | undefined {
  const steps = stepsOf(keywordLocation.replace(/^#\/?/, ""));
  const keyword = steps.pop();
  let schema: Json = root;
  let named = false;
  for (const step of steps) {
    if (!named && isObject(schema) && !Array.isArray(schema) && !WHERE_ALL_APPLIES.has(step)) return undefined;
    if (step === "$ref" && !named && isObject(schema)) {
      const { $ref } = schema;
      schema = resolved(root, { $ref });
      continue;
    }
    named = !named && step === "properties";
    schema = at(schema, [step]);
  }
  if (keyword === undefined || !isObject(schema)) return undefined;
  const value = at(data, path);
  if (keyword === "required") return missing(schema, path, value);
  const message = messageOf(keyword, schema, value);
  return message === undefined ? undefined : { path: pathOf(path), message };
}

function missing(schema: Schema, path: string[], value: Json): Problem | undefined {
  const names = Array.isArray(schema["required"]) ? (schema["required"] as string[]) : [];
  const name = names.find((each) => isObject(value) && !Object.hasOwn(value, each));
  return name === undefined ? undefined : { path: pathOf([...path, name]), message: strings.form.wrong.required };
}

function messageOf(keyword: string, schema: Schema, value: Json): string | undefined {
  const wrong = strings.form.wrong;
  const limit = schema[keyword];
  switch (keyword) {
    case "type":
      return value === null ? wrong.missing : wrong.type;
    case "const":
      return limit === true ? wrong.tick : wrong.exactly(typeof limit === "string" ? limit : JSON.stringify(limit));
    case "enum":
      return wrong.choose;
    case "minimum":
      return wrong.minimum(Number(limit));
    case "maximum":
      return wrong.maximum(Number(limit));
    case "exclusiveMinimum":
      return wrong.exclusiveMinimum(Number(limit));
    case "exclusiveMaximum":
      return wrong.exclusiveMaximum(Number(limit));
    case "multipleOf":
      return Number.isInteger(limit) && Number.isInteger(value) ? wrong.multipleOf(Number(limit)) : undefined;
    case "minLength":
      return wrong.minLength(Number(limit));
    case "maxLength":
      return wrong.maxLength(Number(limit));
    case "minItems":
      return wrong.minItems(Number(limit));
    case "maxItems":
      return wrong.maxItems(Number(limit));
    default:
      return undefined;
  }
}
