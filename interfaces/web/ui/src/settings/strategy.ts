// Assignment strategies as the forms see them: JSON objects whose unknown fields are left alone.

import type { Names } from "../api/names";
import { strings } from "../strings";

export type Strategy = Record<string, unknown>;

/** Text is what somebody wrote as JSON and what is none, or no object: the server says what is wrong with it. */
export type StrategyValue = Strategy | string | null;

export interface Step extends Record<string, unknown> {
  afterMinutes?: unknown;
  to: Strategy;
  notifyOnly?: unknown;
  repeat?: unknown;
}

export const TYPES = ["RunUser", "AgentOwner", "SpecificUser", "List", "SharedInbox"] as const;
export type StrategyType = (typeof TYPES)[number];

export const LIST_STRATEGIES = ["RoundRobin", "LeastBusy", "Random"] as const;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function typeOf(strategy: Strategy): StrategyType | undefined {
  return TYPES.find((type) => type === strategy.type);
}

export function stepsOf(strategy: Strategy): Step[] {
  return Array.isArray(strategy.escalation) ? (strategy.escalation as Step[]) : [];
}

/** Whether the form can show all of it; else it is shown as JSON. */
export function fitsForm(value: StrategyValue): value is Strategy | null {
  if (value === null) return true;
  if (typeof value === "string" || typeOf(value) === undefined) return false;
  const ladder = value.escalation ?? [];
  return Array.isArray(ladder) && ladder.every((step) => isObject(step) && isObject(step.to));
}

/** With these fields set; undefined takes a field out. */
export function changed<T extends Record<string, unknown>>(from: T, fields: Record<string, unknown>): T {
  const all = { ...from, ...fields };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as T;
}

/** Of another type; what only the old one needed goes. */
export function retyped(strategy: Strategy, type: StrategyType | undefined, inherited?: StrategyType): Strategy {
  const asks = type ?? inherited;
  const ofList = asks === "List" || asks === "SharedInbox";
  return changed(strategy, {
    type,
    ...(asks === "SpecificUser" ? {} : { userID: undefined }),
    ...(ofList ? {} : { listID: undefined }),
    ...(asks === "List" ? {} : { listStrategy: undefined }),
  });
}

/** One line: whom it asks, and how many steps follow. */
export function summary(value: StrategyValue, names: Names): string {
  const said = strings.settings.strategy;
  if (!isObject(value)) return "";
  const type = typeOf(value);
  const list = names.list(String(value.listID ?? ""));
  const whom =
    type === "SpecificUser"
      ? names.person(String(value.userID ?? ""))
      : type === "List"
        ? said.oneOf(list)
        : type === "SharedInbox"
          ? said.allOf(list)
          : type === undefined
            ? String(value.type)
            : said.types[type];
  const steps = stepsOf(value).length;
  return steps === 0 ? whom : `${whom} · ${said.steps(steps)}`;
}
