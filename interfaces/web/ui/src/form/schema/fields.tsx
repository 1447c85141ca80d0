// Fields that the form library would fill in by itself: here nothing is chosen until somebody chooses it.

import { Textarea } from "@mantine/core";
import type { FieldProps, RegistryFieldsType } from "@rjsf/utils";
import { createContext, useContext, useState } from "react";

import { strings } from "../../strings";
import { Marked } from "../../text/Marked";
import classes from "../form.module.css";
import { RadioChoices } from "./choices";
import { BARE } from "./display";
import { isObject, resolved, type Schema, schemasOf } from "./json";
import { InList, useItemLabel } from "./parts";
import { branchOf, choicesIn, chosen, impliedBy, startOfBranch, unread, unreadText, withoutChoices } from "./values";

/** At which object a choice is made, and how many were made for it before. */
const Choices = createContext({ id: "", count: 0 });

/** One of several forms of an answer. */
function BranchField(props: FieldProps) {
  const { schema, formData, fieldPathId, registry, required, readonly, errorSchema, onChange, uiSchema, name } = props;
  const whole = schema as Schema;
  const key = whole["oneOf"] === undefined ? "anyOf" : "oneOf";
  const branches = schemasOf(whole[key]);
  const root = registry.schemaUtils.getRootSchema() as Schema;
  const before = useContext(Choices);
  const depth = before.id === fieldPathId.$id ? before.count : 0;
  const [index, setIndex] = useState(() => branchOf(root, branches, formData, depth));
  const { label, hidden: isItem } = useItemLabel(
    schema.title ?? (name === "" ? strings.form.choose : name),
    fieldPathId.path,
  );
  const needed = required === true || fieldPathId.path.length === 0;
  const branch = branches[index];
  const shared = isObject(whole["properties"]) ? Object.keys(whole["properties"]) : [];

  const choose = (next: number) => {
    setIndex(next);
    const members = isObject(formData) ? Object.entries(formData).filter(([member]) => shared.includes(member)) : [];
    const kept = { ...Object.fromEntries(members), ...choicesIn(formData, depth) };
    const start = next === -1 ? undefined : startOfBranch(root, branches, next);
    const isOfMembers = isObject(start) || Object.keys(kept).length > 0;
    const data = isOfMembers ? { ...kept, ...(isObject(start) ? { ...start, ...chosen(depth, next) } : {}) } : start;
    onChange(data, fieldPathId.path, undefined, fieldPathId.$id);
  };
  const { SchemaField } = registry.fields;
  const hints = uiSchema?.[key]?.[index] ?? uiSchema;
  return (
    <>
      <RadioChoices
        id={`${fieldPathId.$id}__branch`}
        label={label}
        description={schema.description}
        required={needed && !isItem}
        clearable={!needed}
        messages={branch === undefined ? errorSchema?.__errors : undefined}
        labels={branches.map((each) => String(each["title"]))}
        chosen={index}
        readOnly={readonly ?? false}
        onChoose={choose}
      />
      {branch !== undefined && SchemaField !== undefined && (
        <div key={index} className={classes.branch}>
          <InList.Provider value={null}>
            <Choices.Provider value={{ id: fieldPathId.$id, count: depth + 1 }}>
              <SchemaField {...props} schema={withinBranch(root, branches, index)} uiSchema={hints} required />
            </Choices.Provider>
          </InList.Provider>
        </div>
      )}
    </>
  );
}

/** The fields of a branch without those that choosing it filled in, and without a frame: they stand below its name. */
function withinBranch(root: Schema, branches: Schema[], index: number): Schema {
  const branch = resolved(root, branches[index]!);
  if (!isObject(branch["properties"])) return branch;
  const implied = impliedBy(root, branches, index);
  const members = Object.entries(branch["properties"]).filter(([name]) => !implied.includes(name));
  return { ...branch, [BARE]: true, properties: Object.fromEntries(members) };
}

/** What has no fields of its own is written as JSON. */
function JsonField({ schema, formData, fieldPathId, required, readonly, rawErrors, onChange, name }: FieldProps) {
  const [typed, setTyped] = useState(() => unreadText(formData) ?? written(withoutChoices(formData)));
  const { label, hidden } = useItemLabel(schema.title ?? (name === "" ? strings.form.json : name), fieldPathId.path);
  const change = (text: string) => {
    setTyped(text);
    const choices = choicesIn(formData);
    const data = text.trim() === "" ? undefined : read(text);
    const marked = Object.keys(choices).length > 0 && (data === undefined || isObject(data));
    onChange(marked ? { ...choices, ...(data ?? {}) } : data, fieldPathId.path, undefined, fieldPathId.$id);
  };
  return (
    <Textarea
      id={fieldPathId.$id}
      label={hidden ? undefined : <Marked text={`${label} (${strings.form.json})`} />}
      aria-label={hidden ? `${label} (${strings.form.json})` : undefined}
      description={schema.description}
      required={required}
      readOnly={readonly}
      error={rawErrors?.join(" ")}
      value={typed}
      autosize
      minRows={1}
      maxRows={24}
      spellCheck={false}
      classNames={{ input: classes.json }}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}

function written(value: unknown): string {
  if (value === undefined || (isObject(value) && Object.keys(value).length === 0)) return "";
  return JSON.stringify(value, null, 2);
}

function read(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return unread(text);
  }
}

function NullField() {
  return null;
}

export const fields = {
  OneOfField: BranchField,
  AnyOfField: BranchField,
  FallbackField: JsonField,
  NullField,
} satisfies RegistryFieldsType;
