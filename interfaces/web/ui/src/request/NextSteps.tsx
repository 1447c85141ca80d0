// What happens next, and when, if nobody does anything.

import type { RequestView } from "../api/client";
import { Time } from "../lib/Time";
import { strings } from "../strings";
import { Marked } from "../text/Marked";
import { Fold } from "./Fold";
import classes from "./request.module.css";
import { useWho, type Who } from "./who";

/** How the server writes whom a step of the ladder goes to: the type of a strategy, and its person or list. */
const STEP = /^(goes to|more people are told): (\w+)(?: (.+?))?(, again and again)?$/;

export function NextSteps({ request }: { request: RequestView }) {
  const who = useWho();
  const open = request.status === "Requested";
  const steps = request.plan.filter(({ step }) => (open ? step !== "show" : step === "erase"));
  if (!open && steps.length === 0) return null;
  return (
    <Fold title={strings.request.next} open={steps.length > 0}>
      {steps.length === 0 ? (
        <p className={classes.quietText}>{strings.request.nothingNext}</p>
      ) : (
        <ol className={classes.steps}>
          {steps.map(({ step, at, what }) => (
            <li key={`${step} ${at}`}>
              <Time at={at} as="clock" className={classes.when} />
              <span>
                <Marked text={strings.request.steps[step] ?? sentence(what, who)} />
              </span>
            </li>
          ))}
        </ol>
      )}
    </Fold>
  );
}

function sentence(what: string, who: Who): string {
  const [, verb, type, name, again] = STEP.exec(what) ?? [];
  if (verb === undefined) return what.charAt(0).toUpperCase() + what.slice(1);
  const said = strings.request.ladder;
  const whom = said.whom[type!]?.(who.target(name ?? null)) ?? name ?? type!;
  const line = verb === "goes to" ? said.goes(whom) : said.told(whom);
  return again === undefined ? line : `${line}${said.again}`;
}
