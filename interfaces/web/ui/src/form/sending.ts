// Sending an answer, once.

import { useRef, useState } from "react";

import { answer, api, Refused, type Schemas, Unreachable } from "../api/client";
import type { Problem } from "./schema/validator";

export type Body = Schemas["RespondBody"];

export interface Sending {
  send: (body: Body) => void;
  busy: boolean;
  sent: boolean;
  refused: Refused | null;
  /** Nothing is known of what became of the answer; sending it again does no harm. */
  unreachable: boolean;
  again: () => void;
  /** What the server says of fields, below "data". */
  problems: Problem[];
  forget: () => void;
}

const NO_PROBLEMS: Problem[] = [];

export function useSending(id: string, onSent: (position: number) => void): Sending {
  const [busy, setBusy] = useState(false);
  const [sent, setSent] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [problems, setProblems] = useState(NO_PROBLEMS);
  // Not state: the second of two quick clicks comes before the next rendering.
  const underWay = useRef(false);
  const last = useRef<Body | null>(null);

  const forget = () => {
    setError(null);
    setProblems(NO_PROBLEMS);
    last.current = null;
  };
  const send = (body: Body) => {
    if (underWay.current) return;
    underWay.current = true;
    last.current = body;
    setBusy(true);
    setError(null);
    setProblems(NO_PROBLEMS);
    answer(api.POST("/api/requests/{id}/respond", { params: { path: { id } }, body })).then(
      ({ position }) => {
        last.current = null;
        setSent(true);
        setBusy(false);
        onSent(position);
      },
      (reason: unknown) => {
        underWay.current = false;
        if (!(reason instanceof Unreachable)) last.current = null;
        setError(reason);
        setProblems(reason instanceof Refused ? fieldsOf(reason) : NO_PROBLEMS);
        setBusy(false);
      },
    );
  };
  return {
    send,
    busy,
    sent,
    refused: error instanceof Refused ? error : null,
    unreachable: error !== null && !(error instanceof Refused),
    again: () => {
      if (last.current !== null) send(last.current);
    },
    problems,
    forget,
  };
}

function fieldsOf({ status, errors }: Refused): Problem[] {
  if (status !== 422) return NO_PROBLEMS;
  return errors.map(({ path, message }) => ({ path: path.replace(/^data\/?/, ""), message }));
}
