// The form of a response schema.

import { Alert, Stack, Text } from "@mantine/core";
// From their own files: the index draws in a validator that compiles.
import StringField from "@rjsf/core/lib/components/fields/StringField.js";
import RjsfForm from "@rjsf/core/lib/components/Form.js";
import { createSchemaUtils, type ErrorSchema, type RJSFSchema, type SchemaUtilsType } from "@rjsf/utils";
import {
  Component,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";

import type { RequestView } from "../api/client";
import { strings } from "../strings";
import type { FormProps } from "./AnswerForm";
import { formOf, marksSecrets } from "./drafts";
import { JsonForm } from "./JsonForm";
import { isSubmit } from "./keys";
import { displayOf } from "./schema/display";
import { fields } from "./schema/fields";
import { at, sameJson, type Schema, stepsOf } from "./schema/json";
import { mergeAllOf } from "./schema/merge";
import { templates } from "./schema/templates";
import { hintsOf } from "./schema/ui";
import { type Problem, problemsOf, validator } from "./schema/validator";
import { finished, startOf } from "./schema/values";
import { type Surroundings, widgets } from "./schema/widgets";
import { SendBar } from "./SendingForm";

const NOTHING_BY_ITSELF = {
  arrayMinItems: { populate: "never" },
  emptyObjectFields: "skipDefaults",
  constAsDefaults: "never",
  allOf: "skipDefaults",
} as const;

const FIELDS = { ...fields, NumberField: StringField };

interface Shown {
  schema: Schema;
  hints: Schema;
  utils: SchemaUtilsType;
  start: unknown;
}

export default function SchemaForm(props: FormProps) {
  const shown = useShown(props.request);
  const instead = <JsonForm {...props} />;
  if (shown === null || formOf(props.draft).json !== undefined) return instead;
  return (
    <Otherwise instead={instead}>
      <Fields {...props} shown={shown} />
    </Otherwise>
  );
}

/** Null where there is no such form. */
function useShown({ response_schema, ui_schema }: RequestView): Shown | null {
  // The same schema is a new object after each update of the request; the form must not notice.
  const text = JSON.stringify([response_schema, ui_schema]);
  return useMemo(() => {
    try {
      const [source, hints] = JSON.parse(text) as [Schema, unknown];
      const schema = displayOf(source);
      const utils = createSchemaUtils(validator, schema as RJSFSchema, NOTHING_BY_ITSELF, mergeAllOf as never);
      return { schema, hints: hintsOf(hints, schema), utils, start: startOf(schema, schema) };
    } catch {
      return null;
    }
  }, [text]);
}

type FieldsProps = FormProps & { shown: Shown };

function Fields({ request, readOnly, sending, draft, shown }: FieldsProps) {
  const { schema, hints, utils, start } = shown;
  const [data, setData] = useState<unknown>(() => formOf(draft).data ?? start);
  const [own, setOwn] = useState<Problem[]>([]);
  const problems = usePresent(sending.problems, own, data);
  const errors = useMemo(() => errorsOf(problems), [problems]);
  // A request is secret too when one of its fields is; then that field is meant, and not all of them.
  const masked = request.secret && !marksSecrets(request.response_schema);
  const context = useMemo<Surroundings>(() => ({ secret: masked }), [masked]);
  const element = useRef<HTMLDivElement>(null);
  const unplaced = useUnplaced(element, problems);
  useFocusOnFirst(element, own, sending.problems);

  const change = (next: unknown) => {
    setData(next);
    const untouched = sameJson(finished(utils, next).data, finished(utils, start).data);
    draft.keep(untouched ? undefined : { data: next });
  };
  const send = () => {
    const answer = finished(utils, data);
    const certain = answer.problems.map(({ path }) => path);
    const others = wrongIn(request, answer.data).filter(({ path }) => !certain.includes(path));
    const found = [...answer.problems, ...others];
    setOwn(found);
    if (found.length === 0) sending.send({ data: answer.data });
  };
  const hear = (event: KeyboardEvent<HTMLElement>) => {
    if (event.key !== "Enter") return;
    if (isSubmit(event)) {
      event.preventDefault();
      if (!readOnly) send();
    } else if (isLine(event.target) && (element.current?.querySelectorAll(EVERY_FIELD).length ?? 0) > 1) {
      // Among several fields Enter is more often a slip than an answer.
      event.preventDefault();
    }
  };
  return (
    <div ref={element} onKeyDown={hear}>
      <RjsfForm
        schema={schema as RJSFSchema}
        uiSchema={hints}
        validator={validator}
        formData={data}
        fields={FIELDS}
        widgets={widgets}
        templates={templates}
        formContext={context}
        extraErrors={errors}
        experimental_defaultFormStateBehavior={NOTHING_BY_ITSELF}
        experimental_customMergeAllOf={mergeAllOf as never}
        idPrefix={`answer-${request.id}`}
        readonly={readOnly}
        noValidate
        noHtml5Validate
        showErrorList={false}
        autoComplete="off"
        onChange={(event) => change(event.formData)}
        onSubmit={send}
      >
        <Stack gap="xs" mt="sm">
          {(unplaced.length > 0 || problems.length > 0) && (
            <Alert color="red" p="xs" role="alert">
              <Text size="sm">{strings.form.problems}</Text>
              {unplaced.map(({ path, message }) => (
                <Text size="sm" key={path}>
                  {path === "" ? message : `${path}: ${message}`}
                </Text>
              ))}
            </Alert>
          )}
          {!readOnly && <SendBar busy={sending.busy} />}
        </Stack>
      </RjsfForm>
    </div>
  );
}

const EVERY_FIELD = "input, textarea, select";

function isLine(target: EventTarget): boolean {
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button", "submit"].includes(target.type);
}

function wrongIn(request: RequestView, data: unknown): Problem[] {
  if (data === undefined) return [{ path: "", message: strings.form.chooseFirst }];
  return problemsOf(request.response_schema ?? {}, data);
}

/** The problems whose fields were not changed since. */
function usePresent(theirs: Problem[], own: Problem[], data: unknown): Problem[] {
  const said = own.length > 0 ? own : theirs;
  const since = useRef({ said, data });
  if (since.current.said !== said) since.current = { said, data };
  const before = since.current.data;
  return useMemo(
    () => said.filter(({ path }) => sameJson(at(before, stepsOf(path)), at(data, stepsOf(path)))),
    [said, before, data],
  );
}

function errorsOf(problems: Problem[]): ErrorSchema {
  const made: Schema = {};
  for (const { path, message } of problems) {
    let here = made;
    for (const step of stepsOf(path)) {
      // A field may be named as something that every object has.
      if (!Object.hasOwn(here, step))
        Object.defineProperty(here, step, { value: {}, enumerable: true, writable: true });
      here = here[step] as Schema;
    }
    here["__errors"] = [...((here["__errors"] as string[] | undefined) ?? []), message];
  }
  return made as ErrorSchema;
}

/** Problems of what the form has no field for. */
function useUnplaced(element: { current: HTMLElement | null }, problems: Problem[]): Problem[] {
  const [unplaced, setUnplaced] = useState<Problem[]>([]);
  useLayoutEffect(() => {
    const isShown = ({ path }: Problem) => element.current?.querySelector(`[data-path="${CSS.escape(path)}"]`) != null;
    const found = problems.filter((problem) => !isShown(problem));
    setUnplaced((before) => (sameJson(before, found) ? before : found));
  }, [element, problems]);
  return unplaced;
}

/** Whoever sent it is taken to the first field that is wrong. */
function useFocusOnFirst(element: { current: HTMLElement | null }, ...lists: Problem[][]): void {
  useEffect(() => {
    if (lists.every((list) => list.length === 0)) return;
    const first = element.current?.querySelector<HTMLElement>("[aria-invalid=true], [data-wrong]");
    const field = first?.matches("fieldset") ? first.querySelector<HTMLElement>("input, textarea, button") : first;
    field?.focus();
  }, lists); // eslint-disable-line react-hooks/exhaustive-deps
}

/** Shows something else where the form cannot be shown. */
class Otherwise extends Component<{ instead: ReactNode; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? this.props.instead : this.props.children;
  }
}
