// A form that can be saved, and tried out before or after: what it says, and what became of that.

import { useState } from "react";

import type { FieldProblem } from "../api/client";
import { problemAt, problemsOf, useDraft } from "./draft";
import { useLeaveGuard } from "./guard";
import type { Tested } from "./TestResult";

export type Doing = "save" | "test";

export function useTriedForm<T extends object>(stored: T) {
  const draft = useDraft<T>(stored);
  const [doing, setDoing] = useState<Doing | null>(null);
  const [refusal, setRefusal] = useState<{ error: unknown; title: string } | null>(null);
  const [problems, setProblems] = useState<FieldProblem[]>([]);
  const [tested, setTested] = useState<Tested | null>(null);
  const { values, changes, dirty } = draft;
  useLeaveGuard(dirty);

  const forget = () => {
    setTested(null);
    setRefusal(null);
    setProblems([]);
  };

  const set = (some: Partial<T>) => {
    draft.set(some);
    setTested(null); // it was about something else
    setProblems((before) => before.filter(({ path }) => !(path in some)));
  };

  /** What holds now is this. */
  const begin = (holds: T) => {
    draft.restart(holds);
    forget();
  };

  /** One thing at a time; where it is refused, that is shown under this title, and at the fields. */
  const run = async (what: Doing, title: string, act: () => Promise<void>) => {
    if (doing !== null) return;
    setDoing(what);
    forget();
    try {
      await act();
    } catch (error) {
      setRefusal({ error, title });
      setProblems(problemsOf(error));
    } finally {
      setDoing(null);
    }
  };

  return { values, changes, dirty, doing, refusal, tested, setTested, problem: problemAt(problems), set, begin, run };
}
