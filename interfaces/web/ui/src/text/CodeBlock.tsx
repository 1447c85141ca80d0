// A block of code: whole, its long lines to be scrolled, in colours where its language is known.

import { ActionIcon, Text, Tooltip } from "@mantine/core";
import { CheckIcon, CopyIcon } from "@primer/octicons-react";
import type { ElementContent } from "hast";
import { useEffect, useState } from "react";

import { strings } from "../strings";
import { copy } from "./copy";
import { DiffLines } from "./DiffLines";
import { isDiff, languageOf } from "./languages";
import { Marked } from "./Marked";
import classes from "./text.module.css";

/** Longer blocks stay plain: colours would take longer than reading. */
const COLOURED_UP_TO = 20_000;
const MANY_LINES = 30;

export function CodeBlock({ code, language }: { code: string; language: string }) {
  const text = code.replace(/\n$/, "");
  const lines = text.split("\n").length;
  const long = text.length > COLOURED_UP_TO;
  return (
    <div className={classes.block}>
      <div className={classes.bar}>
        <Text size="xs" c="dimmed">
          {language === "" ? strings.text.code : <Marked text={language} />}
          {lines > MANY_LINES && ` · ${strings.text.lines(lines)}`}
        </Text>
        <CopyButton text={text} />
      </div>
      <pre className={classes.code} dir="ltr" tabIndex={0} role="group" aria-label={strings.text.codeIn(language)}>
        <code>
          {isDiff(language) && !long ? (
            <DiffLines text={text} />
          ) : (
            <Coloured text={text} language={long ? null : languageOf(language)} />
          )}
        </code>
      </pre>
    </div>
  );
}

function Coloured({ text, language }: { text: string; language: string | null }) {
  const [found, setFound] = useState<{ of: string; content: ElementContent[] } | null>(null);
  useEffect(() => {
    if (language === null) return;
    let gone = false;
    import("./highlight").then(
      ({ highlighted }) => {
        if (!gone) setFound({ of: text, content: highlighted(text, language) });
      },
      () => undefined, // offline: it stays plain
    );
    return () => {
      gone = true;
    };
  }, [text, language]);
  if (found === null || found.of !== text) return <Marked text={text} />;
  return found.content.map((each, index) => <Piece key={index} of={each} />);
}

function Piece({ of }: { of: ElementContent }) {
  if (of.type === "text") return <Marked text={of.value} />;
  if (of.type !== "element") return null;
  const names = of.properties.className;
  return (
    <span className={Array.isArray(names) ? names.join(" ") : undefined}>
      {of.children.map((each, index) => (
        <Piece key={index} of={each} />
      ))}
    </span>
  );
}

const SAID_FOR = 2_000;

export function CopyButton({ text, label = strings.text.copyCode }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SAID_FOR);
    return () => clearTimeout(timer);
  }, [copied]);
  const said = copied ? strings.text.copied : label;
  return (
    <Tooltip label={said} withArrow>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="md"
        aria-label={said}
        onClick={() => void copy(text).then(setCopied)}
      >
        {copied ? <CheckIcon /> : <CopyIcon />}
      </ActionIcon>
    </Tooltip>
  );
}
