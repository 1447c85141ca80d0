// Which of an agent's hints for the form are followed: those on words, order and kinds of input. A hint can neither
// hide a field that would be sent, nor fill it in, nor bring in styles.

import { isObject, type Schema, textsOf } from "./json";

const WIDGETS = new Set([
  "text",
  "textarea",
  "password",
  "radio",
  "select",
  "checkbox",
  "checkboxes",
  "updown",
  "email",
  "uri",
]);
const TEXTS = ["title", "description", "help", "placeholder"];
const SWITCHES = ["autofocus", "readonly"];

export function hintsOf(given: unknown, schema: Schema): Schema {
  if (!isObject(given)) return {};
  const options: Schema = { ...(isObject(given["ui:options"]) ? given["ui:options"] : {}) };
  for (const [key, value] of Object.entries(given)) if (key.startsWith("ui:")) options[key.slice(3)] = value;
  const made: Schema = {};
  for (const key of TEXTS) if (typeof options[key] === "string") made[`ui:${key}`] = options[key];
  for (const key of SWITCHES) if (options[key] === true) made[`ui:${key}`] = true;
  if (typeof options["rows"] === "number") made["ui:rows"] = options["rows"];
  if (Array.isArray(options["enumNames"]) || isObject(options["enumNames"]))
    made["ui:enumNames"] = options["enumNames"];
  if (typeof options["widget"] === "string" && WIDGETS.has(options["widget"])) made["ui:widget"] = options["widget"];
  if (Array.isArray(options["order"])) made["ui:order"] = orderOf(textsOf(options["order"]), schema);
  for (const [key, value] of Object.entries(given)) {
    if (key.startsWith("ui:")) continue;
    if (key === "oneOf" || key === "anyOf") {
      const branches = Array.isArray(schema[key]) ? schema[key] : [];
      if (Array.isArray(value)) made[key] = value.map((each, index) => hintsOf(each, below(branches[index])));
    } else {
      made[key] = hintsOf(value, key === "items" ? below(schema["items"]) : below(below(schema["properties"])[key]));
    }
  }
  return made;
}

function below(value: unknown): Schema {
  return isObject(value) ? value : {};
}

/** All fields, those first that are named. */
function orderOf(order: string[], schema: Schema): string[] {
  const names = Object.keys(below(schema["properties"]));
  const known = order.filter((name, index) => name === "*" || (names.includes(name) && order.indexOf(name) === index));
  return known.includes("*") ? known : [...known, "*"];
}
