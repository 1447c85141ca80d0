// What a form says while it is filled in, and how that differs from what holds.

import { useState } from "react";

import { Refused, type FieldProblem } from "../api/client";

export interface Draft<T> {
  values: T;
  set: (changes: Partial<T>) => void;
  /** The fields that are not as they were. */
  changes: Partial<T>;
  dirty: boolean;
  /** What holds now is this. */
  restart: (values: T) => void;
}

export function useDraft<T extends object>(initial: T): Draft<T> {
  const [start, setStart] = useState(initial);
  const [values, setValues] = useState(initial);
  const changes = differing(start, values);
  return {
    values,
    set: (some) => setValues((now) => ({ ...now, ...some })),
    changes,
    dirty: Object.keys(changes).length > 0,
    restart: (now) => {
      setStart(now);
      setValues(now);
    },
  };
}

function differing<T extends object>(before: T, now: T): Partial<T> {
  const names = Object.keys(now) as (keyof T)[];
  return Object.fromEntries(
    names
      .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(now[name]))
      .map((name) => [name, now[name]]),
  ) as Partial<T>;
}

/** What is wrong with which field; a conflict names its field in words. */
export function problemsOf(error: unknown): FieldProblem[] {
  if (!(error instanceof Refused)) return [];
  if (error.errors.length > 0) return error.errors;
  const [, path, message] = /^([a-z_]+): (.+)$/s.exec(error.detail) ?? [];
  return path === undefined || message === undefined ? [] : [{ path, message }];
}

/** What is wrong at a path, for the field that stands for it. */
export type ProblemAt = (path: string) => string | undefined;

export function problemAt(problems: FieldProblem[]): ProblemAt {
  return (path) => problems.find((problem) => problem.path === path)?.message;
}
