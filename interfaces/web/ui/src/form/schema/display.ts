// What of a response schema is shown, in the few shapes that the form's fields know. Answers are judged by the schema
// itself; this one only says which fields there are. It states no defaults, so that nothing can be filled in by the
// form: what the schema prefills is kept apart in `START` and used once.

import { strings } from "../../strings";
import { everySchema, isObject, isSchema, resolved, type Schema, schemasOf, target, textsOf } from "./json";

/** What the field begins with, where the schema says so. */
export const START = "x-start";
/** The labels of an `enum`, in its order. */
export const LABELS = "x-labels";
/** The field also takes null. */
export const NULLABLE = "x-nullable";
/** The group needs neither name nor frame. */
export const BARE = "x-bare";
/** The field takes JSON text: "object", "array" or "any". */
export const AS_JSON = "x-json";

const CHECKS = [
  "minItems", "maxItems", "minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum",
  "exclusiveMaximum", "multipleOf", "writeOnly", "readOnly",
]; // prettier-ignore
const FORMATS = new Set(["email", "uri", "date", "date-time", "time", "password"]);
const SHAPES = ["type", "properties", "items", "prefixItems", "$ref", "enum", "const", "oneOf", "anyOf", "allOf"];
const OF_OBJECTS = ["allOf", "if", "dependencies", "dependentSchemas", "dependentRequired"];

/** Throws where a reference leads nowhere: such a schema has no form. */
export function displayOf(source: Schema): Schema {
  const made = new Display(source).whole();
  for (const schema of everySchema(made)) {
    const reference = schema["$ref"];
    if (typeof reference === "string" && target(made, reference) === undefined) throw new Error("unknown reference");
  }
  return made;
}

class Display {
  constructor(private readonly root: Schema) {}

  whole(): Schema {
    const made = this.shown(this.root);
    // A form of a single field has to call it something.
    if (made["type"] !== "object" && !("oneOf" in made) && !("anyOf" in made)) made["title"] ??= strings.form.answer;
    for (const key of ["$defs", "definitions"]) {
      const defined = this.root[key];
      if (isObject(defined)) made[key] = this.each(defined, (schema) => this.shown(schema));
    }
    return made;
  }

  /** `name`: of the property, which is its title where it has no other. */
  private shown(given: unknown, name?: string): Schema {
    if (!isSchema(given)) return { title: name && titled(name), [AS_JSON]: "any" };
    const said = this.said(given, name);
    if (typeof given["$ref"] === "string") return { ...said, $ref: given["$ref"] };
    const choices = this.choices(given);
    if (choices !== undefined) return { ...said, ...choices };
    const alternatives = this.alternatives(given, said, name);
    if (alternatives !== undefined) return alternatives;
    const types = typesOf(given);
    const some = types.filter((type) => type !== "null");
    if (types.includes("null")) {
      if (some.length === 0) return { ...said, enum: [null], [LABELS]: [strings.form.none] };
      if (some[0] === "boolean" && some.length === 1) return { ...said, ...asChoices([true, false, null]) };
      said[NULLABLE] = true;
    }
    if (some.length > 1) {
      return {
        ...said,
        anyOf: some.map((type) => ({ ...this.shown({ ...given, ...UNSAID, type }), title: worded(type) })),
      };
    }
    return { ...said, ...this.plain(given, some[0] ?? inferred(given)) };
  }

  /** A part of a schema: it may add to what stands elsewhere, so nothing is made up for what it lacks. */
  private part(given: unknown, name?: string): Schema {
    if (!isSchema(given)) return {};
    if (SHAPES.some((key) => key in given && key !== "properties" && key !== "allOf")) return this.shown(given, name);
    const made: Schema = { ...this.checks(given), ...this.conditions(given) };
    for (const key of ["title", "description"]) if (typeof given[key] === "string") made[key] = given[key];
    if (Array.isArray(given["required"])) made["required"] = textsOf(given["required"]);
    if (isObject(given["properties"])) {
      made["properties"] = this.each(given["properties"], (schema, key) => this.part(schema, key));
    }
    return made;
  }

  private said(given: Schema, name?: string): Schema {
    const made: Schema = {};
    if (typeof given["title"] === "string" && given["title"].trim() !== "") made["title"] = given["title"];
    else if (name !== undefined) made["title"] = titled(name);
    if (typeof given["description"] === "string") made["description"] = given["description"];
    if ("default" in given) made[START] = given["default"];
    if (given["writeOnly"] === true) made["writeOnly"] = true;
    return made;
  }

  private plain(given: Schema, type: string | undefined): Schema {
    switch (type) {
      case "object":
        return this.object(given);
      case "array":
        return this.list(given);
      case "string":
        return { type, ...this.checks(given), ...formatOf(given) };
      case "number":
      case "integer":
        return { type, ...this.checks(given) };
      case "boolean":
        return { type };
      default:
        if (OF_OBJECTS.some((key) => key in given)) return this.part(given);
        return { [AS_JSON]: "any" };
    }
  }

  private object(given: Schema): Schema {
    const properties = isObject(given["properties"]) ? given["properties"] : {};
    const required = textsOf(given["required"]);
    const unnamed = required.filter((name) => !Object.hasOwn(properties, name));
    const conditions = this.conditions(given);
    if (Object.keys(properties).length === 0 && unnamed.length === 0 && Object.keys(conditions).length === 0) {
      return { [AS_JSON]: "object" };
    }
    const all = Object.fromEntries(Object.entries(properties).filter(([, schema]) => schema !== false));
    // A condition may describe it later.
    if (Object.keys(conditions).length === 0) for (const name of unnamed) all[name] = true;
    return {
      type: "object",
      required,
      properties: this.each(all, (schema, key) => this.shown(schema, key)),
      ...conditions,
    };
  }

  private list(given: Schema): Schema {
    const items = given["items"];
    if (!isSchema(items) || Array.isArray(given["prefixItems"])) return { [AS_JSON]: "array" };
    const made: Schema = { type: "array", items: this.shown(items), ...this.checks(given) };
    if (this.choices(resolved(this.root, items))?.["enum"] !== undefined) made["uniqueItems"] = true; // boxes to tick
    return made;
  }

  private checks(given: Schema): Schema {
    return Object.fromEntries(CHECKS.filter((key) => key in given).map((key) => [key, given[key]]));
  }

  private conditions(given: Schema): Schema {
    const made: Schema = {};
    if (Array.isArray(given["allOf"])) made["allOf"] = schemasOf(given["allOf"]).map((part) => this.member(part));
    if (isSchema(given["if"])) {
      made["if"] = given["if"];
      for (const key of ["then", "else"]) if (isSchema(given[key])) made[key] = this.addition(given[key]);
    }
    const dependencies = {
      ...(isObject(given["dependentRequired"]) ? given["dependentRequired"] : {}),
      ...(isObject(given["dependentSchemas"]) ? given["dependentSchemas"] : {}),
      ...(isObject(given["dependencies"]) ? given["dependencies"] : {}),
    };
    if (Object.keys(dependencies).length > 0) {
      made["dependencies"] = this.each(dependencies, (each) => (Array.isArray(each) ? each : this.addition(each)));
    }
    return made;
  }

  private member(part: Schema): Schema {
    return typeof part["$ref"] === "string" ? { $ref: part["$ref"] } : this.addition(part);
  }

  /** What a condition adds to a group: fields, but no other name for it. */
  private addition(given: unknown): Schema {
    if (!isSchema(given)) return {};
    const { title: _, description: __, oneOf, ...rest } = given;
    const branches = schemasOf(oneOf);
    // The form library itself finds which of these applies.
    if (branches.length > 0 && branches.every((branch) => isObject(branch["properties"]))) {
      return { ...this.part(rest), oneOf: branches.map((branch) => this.addition(branch)) };
    }
    return this.part(given);
  }

  /** One value out of a few, whatever their types are. */
  private choices(given: Schema): Schema | undefined {
    const types = typesOf(given);
    const fits = (value: unknown) => types.length === 0 || types.some((type) => isOfType(value, type));
    const alternatives = schemasOf(given["oneOf"] ?? given["anyOf"]).map((each) => resolved(this.root, each));
    if ("const" in given || Array.isArray(given["enum"])) {
      const values = ("const" in given ? [given["const"]] : (given["enum"] as unknown[])).filter(fits);
      if (values.length === 1 && typeof values[0] === "boolean") return { type: "boolean", const: values[0] };
      return asChoices(values, given["enumNames"] ?? given["x-enumNames"]);
    }
    if (alternatives.length === 0 || !alternatives.every((each) => "const" in each))
      return this.choicesOrNull(alternatives);
    const found = alternatives.filter((each) => fits(each["const"]));
    return asChoices(found.map((each) => each["const"]), found.map((each) => each["title"])); // prettier-ignore
  }

  private choicesOrNull(alternatives: Schema[]): Schema | undefined {
    const [some, ...more] = alternatives.filter((each) => !isNull(each));
    if (some === undefined || more.length > 0 || alternatives.length !== 2) return undefined;
    const choices = this.choices(some);
    if (!Array.isArray(choices?.["enum"])) return undefined;
    return {
      enum: [...(choices["enum"] as unknown[]), null],
      [LABELS]: [...(choices[LABELS] as unknown[]), strings.form.none],
    };
  }

  private alternatives(given: Schema, said: Schema, name?: string): Schema | undefined {
    const key = Array.isArray(given["oneOf"]) ? "oneOf" : Array.isArray(given["anyOf"]) ? "anyOf" : undefined;
    if (key === undefined) return undefined;
    const { [key]: listed, ...rest } = given;
    const all = schemasOf(listed);
    // Branches that only forbid or demand have nothing to show.
    if (!all.some((branch) => SHAPES.some((shape) => shape in branch))) return this.shown(rest, name);
    const [only, ...others] = all.filter((branch) => !isNull(branch));
    if (only !== undefined && others.length === 0 && all.length === 2) {
      const made = this.shown({ ...only, ...UNSAID });
      return { ...made, ...saidOf(only), ...said, [NULLABLE]: true };
    }
    const branches = all.map((branch, index) => {
      const lacksType = !SHAPES.some((shape) => shape in branch && shape !== "properties");
      const whole = lacksType && "type" in given ? { type: given["type"], ...branch } : branch;
      return { ...this.shown(whole), title: this.titleOf(branch, index) };
    });
    const shared = isObject(given["properties"]) ? this.object(rest) : {};
    return { ...said, ...shared, [key]: branches };
  }

  private titleOf(branch: Schema, index: number): string {
    const found = resolved(this.root, branch);
    if (typeof found["title"] === "string" && found["title"].trim() !== "") return found["title"];
    if (isNull(found)) return strings.form.none;
    if ("const" in found) return written(found["const"]);
    const properties = isObject(found["properties"]) ? found["properties"] : {};
    for (const property of Object.values(properties)) {
      if (isSchema(property) && typeof property["const"] === "string") return property["const"];
    }
    const names = textsOf(found["required"]).concat(Object.keys(properties));
    if (names[0] !== undefined) return [...new Set(names)].slice(0, 3).map(titled).join(", ");
    const type = typesOf(found)[0];
    return type === undefined ? strings.form.alternative(index + 1) : worded(type);
  }

  private each<T>(named: Record<string, unknown>, make: (schema: unknown, key: string) => T): Record<string, T> {
    return Object.fromEntries(Object.entries(named).map(([key, schema]) => [key, make(schema, key)]));
  }
}

const UNSAID = { title: undefined, description: undefined };

function saidOf(schema: Schema): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key === "title" || key === "description"));
}

function asChoices(values: unknown[], labels?: unknown): Schema {
  const named = Array.isArray(labels) ? labels : [];
  const yesOrNo = values.every((value) => typeof value === "boolean" || value === null);
  const label = (value: unknown) => (typeof value === "boolean" && !yesOrNo ? String(value) : written(value));
  return {
    enum: values,
    [LABELS]: values.map((value, index) => (typeof named[index] === "string" ? named[index] : label(value))),
  };
}

function isNull(schema: Schema): boolean {
  return schema["type"] === "null" || ("const" in schema && schema["const"] === null);
}

function typesOf(schema: Schema): string[] {
  const types = typeof schema["type"] === "string" ? [schema["type"]] : textsOf(schema["type"]);
  return types.includes("number") ? types.filter((type) => type !== "integer") : types;
}

function inferred(schema: Schema): string | undefined {
  const has = (...keys: string[]) => keys.some((key) => key in schema);
  if (has("properties", "required")) return "object";
  if (has("items", "prefixItems")) return "array";
  if (has("pattern", "minLength", "maxLength", "format")) return "string";
  if (has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")) return "number";
  return undefined;
}

function formatOf(schema: Schema): Schema {
  const format = schema["writeOnly"] === true ? "password" : schema["format"];
  return typeof format === "string" && FORMATS.has(format) ? { format } : {};
}

function isOfType(value: unknown, type: string): boolean {
  if (value === null) return type === "null";
  if (Array.isArray(value)) return type === "array";
  if (typeof value === "number") return type === "number" || (type === "integer" && Number.isInteger(value));
  return typeof value === type;
}

function written(value: unknown): string {
  if (value === null) return strings.form.none;
  if (typeof value === "boolean") return value ? strings.form.yes : strings.form.no;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function worded(type: string): string {
  return strings.form.types[type as keyof typeof strings.form.types] ?? type;
}

/** "start_date" and "startDate" read "Start date". */
function titled(name: string): string {
  const words = name.replace(
    /([a-z\d])([A-Z])/g,
    (_, before: string, after: string) => `${before} ${after.toLowerCase()}`,
  );
  const text = words.replace(/[_-]+/g, " ").trim();
  return text === "" ? name || strings.form.unnamed : text.charAt(0).toUpperCase() + text.slice(1);
}
