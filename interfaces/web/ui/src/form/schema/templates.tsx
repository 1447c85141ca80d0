// How the groups and lists of a form are laid out.

import { ActionIcon, Button, Stack } from "@mantine/core";
import { ArrowDownIcon, ArrowUpIcon, PlusIcon, TrashIcon } from "@primer/octicons-react";
import type {
  ArrayFieldItemTemplateProps,
  ArrayFieldTemplateProps,
  CyclicSchemaExpandProps,
  FieldTemplateProps,
  ObjectFieldTemplateProps,
  TemplatesType,
} from "@rjsf/utils";
import { useContext } from "react";

import { strings } from "../../strings";
import classes from "../form.module.css";
import { AS_JSON, BARE, LABELS } from "./display";
import { pathOf, type Schema } from "./json";
import { Fieldset, InList, useItemLabel, Wrong } from "./parts";

function FieldTemplate({ fieldPathId, id, schema, rawErrors, children }: FieldTemplateProps) {
  const shown = schema as Schema;
  // Single fields, lists of boxes and choices say themselves what is wrong with them.
  const isGroup = shown["type"] === "object" && !("oneOf" in shown) && !("anyOf" in shown);
  const saysItself = !isGroup || AS_JSON in shown || LABELS in shown;
  return (
    <div data-path={pathOf(fieldPathId.path)}>
      {children}
      {!saysItself && <Wrong id={`${id}-group-wrong`} messages={rawErrors} />}
    </div>
  );
}

function ObjectFieldTemplate({
  title,
  description,
  properties,
  fieldPathId,
  required,
  schema,
}: ObjectFieldTemplateProps) {
  const item = useItemLabel(title);
  const fields = (
    <InList.Provider value={null}>
      <Stack gap="sm">{properties.map(({ content }) => content)}</Stack>
    </InList.Provider>
  );
  const said = typeof description === "string" ? description : undefined;
  // The form itself, and a branch below the name of its choice, need no frame around them.
  const inBranch = (schema as Schema)[BARE] === true;
  const bare = inBranch || fieldPathId.path.length === 0;
  if (bare && (inBranch || title === "") && said === undefined) return fields;
  return (
    <Fieldset
      id={`${fieldPathId.$id}__group`}
      label={inBranch ? "" : item.label}
      description={said}
      required={!bare && !item.hidden && required}
      framed={!bare}
    >
      {fields}
    </Fieldset>
  );
}

function ArrayFieldTemplate({
  title,
  items,
  canAdd,
  onAddClick,
  fieldPathId,
  schema,
  required,
  readonly,
  rawErrors,
}: ArrayFieldTemplateProps) {
  const item = useItemLabel(title);
  return (
    <Fieldset
      id={fieldPathId.$id}
      label={item.label}
      description={schema.description}
      required={required && !item.hidden}
      messages={rawErrors}
      framed
    >
      <InList.Provider value={{ title: item.label }}>
        <Stack gap="xs" align="stretch">
          {items}
        </Stack>
      </InList.Provider>
      {canAdd && !readonly && (
        <Button
          variant="subtle"
          size="compact-sm"
          mt={items.length > 0 ? "xs" : 0}
          leftSection={<PlusIcon size={14} />}
          onClick={onAddClick}
          aria-label={strings.form.add(item.label)}
        >
          {strings.form.addShort}
        </Button>
      )}
    </Fieldset>
  );
}

function ArrayFieldItemTemplate({ children, buttonsProps, index, readonly }: ArrayFieldItemTemplateProps) {
  const list = useContext(InList);
  const name = `${list?.title ?? ""}: ${strings.form.item(index + 1)}`;
  const buttons = [
    {
      shown: buttonsProps.hasMoveUp,
      label: strings.form.up(name),
      icon: <ArrowUpIcon />,
      act: () => buttonsProps.onMoveUpItem(),
    },
    {
      shown: buttonsProps.hasMoveDown,
      label: strings.form.down(name),
      icon: <ArrowDownIcon />,
      act: () => buttonsProps.onMoveDownItem(),
    },
    {
      shown: buttonsProps.hasRemove,
      label: strings.form.remove(name),
      icon: <TrashIcon />,
      act: () => buttonsProps.onRemoveItem(),
    },
  ];
  return (
    <div className={classes.item}>
      <div className={classes.itemField}>{children}</div>
      {!readonly && (
        <div className={classes.itemButtons}>
          {buttons.map(
            ({ shown, label, icon, act }) =>
              shown && (
                <ActionIcon key={label} variant="subtle" color="gray" aria-label={label} onClick={act}>
                  {icon}
                </ActionIcon>
              ),
          )}
        </div>
      )}
    </div>
  );
}

/** A form within itself is opened step by step. */
function CyclicSchemaExpandTemplate({ name, schema, fieldPathId, onExpand }: CyclicSchemaExpandProps) {
  return (
    <Button
      variant="subtle"
      size="compact-sm"
      leftSection={<PlusIcon size={14} />}
      onClick={() => onExpand(fieldPathId.$id)}
    >
      {strings.form.expand(schema.title ?? name)}
    </Button>
  );
}

function Nothing() {
  return null;
}

/** A field that the form library cannot show: the whole is then written as JSON. */
function UnsupportedFieldTemplate(): never {
  throw new Error("unsupported field");
}

export const templates: Partial<TemplatesType> = {
  FieldTemplate,
  ObjectFieldTemplate,
  ArrayFieldTemplate,
  ArrayFieldItemTemplate,
  CyclicSchemaExpandTemplate,
  UnsupportedFieldTemplate,
  DescriptionFieldTemplate: Nothing,
  FieldHelpTemplate: Nothing,
  FieldErrorTemplate: Nothing,
  ErrorListTemplate: Nothing,
};
