// A request that is there. What is typed in its form outlives everything that happens to it meanwhile.

import { Text, Title, VisuallyHidden } from "@mantine/core";
import { lazy, Suspense, useEffect, useRef, useState } from "react";

import type { RequestView } from "../api/client";
import { Loading } from "../lib/State";
import { usePageTitle } from "../shell/title";
import { strings } from "../strings";
import { Prose } from "../text/Prose";
import { AnswerSection } from "./AnswerSection";
import { useRefresh } from "./data";
import { Details } from "./Details";
import { Fold } from "./Fold";
import { Head } from "./Head";
import { HistorySection } from "./HistorySection";
import { NextSteps } from "./NextSteps";
import classes from "./request.module.css";
import { useRights } from "./rights";
import { SameRun } from "./SameRun";
import { ToAnswer } from "./ToAnswer";
import { WhatHappened } from "./WhatHappened";
import { useWho } from "./who";
import { WhySection } from "./WhySection";

const AnswerForm = lazy(() => import("../form/AnswerForm").then(({ AnswerForm: form }) => ({ default: form })));

interface Props {
  id: string;
  request: RequestView;
  onClose: () => void;
}

export function Opened({ id, request, onClose }: Props) {
  const who = useWho();
  const rights = useRights(id, request);
  const refresh = useRefresh(id);
  const heading = useRef<HTMLHeadingElement>(null);
  const form = useRef<HTMLElement>(null);
  const title = strings.request.of(who.type(request.request_type), who.agent(request.agent));
  usePageTitle(title);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);

  const open = request.status === "Requested";
  const [first] = useState(request);
  const [answeredHere, setAnsweredHere] = useState(false);
  // What was typed stays to be copied when somebody else was faster.
  const byMe = answeredHere || who.isMe(request.response?.by);
  const formShown = open || (first.status === "Requested" && !byMe && !request.erased);
  const [formReady, setFormReady] = useState(false);
  if (rights !== null && !formReady) setFormReady(true);

  return (
    <article className={classes.panel} aria-label={title}>
      <Head id={id} request={request} rights={rights} heading={heading} title={title} onClose={onClose} />
      <div className={classes.body}>
        <WhatHappened id={id} request={request} since={first} />
        {request.erased && (
          <Text c="dimmed" size="sm">
            {strings.request.erased}
          </Text>
        )}
        {request.message !== null && (
          <section aria-labelledby="request-message">
            <VisuallyHidden>
              <Title order={2} id="request-message">
                {strings.request.message}
              </Title>
            </VisuallyHidden>
            <Prose text={request.message} />
          </section>
        )}
        {request.context !== null && request.context !== "" && (
          <Fold title={strings.request.context} open>
            <Prose text={request.context} />
          </Fold>
        )}
        {!open && <AnswerSection id={id} request={request} />}
        {formShown && (
          <section ref={form} className={classes.form} aria-labelledby="request-answer" tabIndex={-1}>
            <Title order={2} id="request-answer" className={classes.section}>
              {strings.request.yourAnswer}
            </Title>
            <Suspense fallback={<Loading />}>
              {formReady && (
                <AnswerForm
                  request={request}
                  mayAnswer={rights?.answer ?? false}
                  whyNot={rights?.whyNot}
                  onAnswered={(position) => {
                    setAnsweredHere(true);
                    refresh(position);
                  }}
                />
              )}
            </Suspense>
          </section>
        )}
        <div className={classes.folds}>
          <NextSteps request={request} />
          <WhySection request={request} />
          <SameRun request={request} />
          <Details request={request} />
          <HistorySection id={id} request={request} />
        </div>
        {rights?.answer === true && <ToAnswer form={form} />}
      </div>
    </article>
  );
}
