// Why somebody was asked: what each level said, from the request itself up to the one that decided.

import { Badge, Text } from "@mantine/core";
import { CheckCircleFillIcon, SkipIcon } from "@primer/octicons-react";

import type { Assignment } from "../api/client";
import { useNames } from "../api/names";
import { strings } from "../strings";
import classes from "./decision.module.css";

const words = strings.decision;

interface Step {
  level: string;
  of?: string;
  said?: string;
  strategy?: Record<string, unknown>;
}

export function Decision({ assignment }: { assignment: Assignment }) {
  const { reason, trace, candidates, level } = assignment;
  const names = useNames();
  const steps = trace as unknown as Step[];
  // The level that decided is the last one looked at.
  const deciding = steps.findLastIndex((step) => step.level === level);
  return (
    <div className={classes.decision}>
      <Text size="sm">{reason}</Text>
      {candidates.length > 1 && (
        <Text size="sm" c="dimmed">
          {words.candidates}: {candidates.map(names.person).join(", ")}
        </Text>
      )}
      {steps.length > 0 && (
        <ol className={classes.trace} aria-label={words.trace}>
          {steps.map((step, index) => (
            <Level key={index} step={step} decided={index === deciding} />
          ))}
        </ol>
      )}
    </div>
  );
}

function Level({ step, decided }: { step: Step; decided: boolean }) {
  const { level, of, said, strategy } = step;
  const label = words.levels[level] ?? level;
  return (
    <li className={classes.level} data-decided={decided || undefined}>
      <span className={classes.mark} aria-hidden>
        {decided ? <CheckCircleFillIcon /> : <SkipIcon />}
      </span>
      <div>
        <Text size="sm" fw={decided ? 600 : 400}>
          {label}
          {of !== undefined && (
            <>
              {" "}
              <code>{of}</code>
            </>
          )}
          {decided && (
            <Badge ml="xs" size="sm" radius="sm" tt="none">
              {words.decided}
            </Badge>
          )}
        </Text>
        <Text size="sm" c="dimmed">
          {strategy !== undefined && <Strategy strategy={strategy} />}
          {said === "no strategy" ? words.noStrategy : said}
          {!decided && ` · ${words.fellThrough}`}
        </Text>
      </div>
    </li>
  );
}

function Strategy({ strategy }: { strategy: Record<string, unknown> }) {
  const type = String(strategy.type);
  const details = ["userID", "listID", "listStrategy"].flatMap((name) => strategy[name] ?? []).map(String);
  return (
    <>
      <code title={JSON.stringify(strategy, null, 2)}>{[type, ...details].join(" · ")}</code>{" "}
    </>
  );
}
