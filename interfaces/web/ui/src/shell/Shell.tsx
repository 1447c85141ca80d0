// The frame around all pages: who is signed in, where one can go, whether one sees what happens as it happens.

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Router } from "wouter";

import { begin } from "../api/session";
import { Refused } from "../api/client";
import { Failure, Loading } from "../lib/State";
import { follow } from "../live/live";
import { Frame } from "./Frame";

/** Nothing is shown to nobody: the person is known first, and the stream is followed from then on. */
export function Shell() {
  const queries = useQueryClient();
  const [user, setUser] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);

  useEffect(() => {
    let gone = false;
    begin().then(
      (me) => {
        if (gone) return;
        queries.setQueryData(["me"], me);
        setUser(me.id);
      },
      (reason: unknown) => {
        const signsIn = reason instanceof Refused && reason.status === 401;
        if (!gone && !signsIn) setError(reason);
      },
    );
    return () => {
      gone = true;
    };
  }, [queries, attempt]);

  useEffect(() => (user === null ? undefined : follow(user)), [user]);

  if (error !== null) {
    const retry = () => {
      setError(null);
      setAttempt(attempt + 1);
    };
    return <Failure error={error} retry={retry} />;
  }
  if (user === null) return <Loading />;
  return (
    <Router>
      <Frame />
    </Router>
  );
}
