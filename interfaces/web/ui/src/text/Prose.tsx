// What an agent wrote in Markdown: shown whole, as text. None of it runs, loads anything, or hides.

import { Button } from "@mantine/core";
import type { Element, Nodes } from "hast";
import { memo, useEffect, useId, useMemo, useState, type ReactElement } from "react";
import Markdown, { type Components, type Options } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";

import { strings } from "../strings";
import { CodeBlock } from "./CodeBlock";
import { Link } from "./Link";
import { Marked } from "./Marked";
import { isHopeless, parts, type Part } from "./parts";
import { inert, readable, schema } from "./rehype";
import classes from "./text.module.css";
import { keepUnused } from "./unused";

const PART_CHARACTERS = 20_000;
const PART_LINES = 250;

interface Props {
  text: string;
  /** The rank that its topmost headings get. */
  headings?: 2 | 3 | 4 | 5;
}

export function Prose({ text, headings = 3 }: Props) {
  const all = useMemo(() => parts(text, PART_CHARACTERS, PART_LINES), [text]);
  const [wanted, setWanted] = useState(1);
  const complete = wanted >= all.length;

  // One part after the other: reading all of a very long text at once would hold up the page.
  useEffect(() => {
    if (wanted === 1 || complete) return;
    const timer = setTimeout(() => setWanted(wanted + 1), 0);
    return () => clearTimeout(timer);
  }, [wanted, complete]);

  return (
    <div className={classes.prose}>
      {all.slice(0, wanted).map((part, index) => (
        <OnePart key={index} text={part.text} headings={headings} />
      ))}
      {wanted === 1 && !complete && <More hidden={all.slice(1)} onShow={() => setWanted(2)} />}
    </div>
  );
}

function More({ hidden, onShow }: { hidden: Part[]; onShow: () => void }) {
  const bytes = hidden.reduce((sum, part) => sum + part.bytes, 0);
  const lines = hidden.reduce((sum, part) => sum + part.lines, 0);
  return (
    <div className={classes.more}>
      <Button variant="default" size="sm" onClick={onShow}>
        {strings.text.showAll(size(bytes), lines)}
      </Button>
    </div>
  );
}

function size(bytes: number): string {
  return bytes < 1024 ? `${bytes} B` : `${Math.round(bytes / 1024)} kB`;
}

const OnePart = memo(function OnePart({ text, headings }: { text: string; headings: number }) {
  const id = useId();
  const content = useMemo(() => read(text, headings, id) ?? <Plain text={text} />, [text, headings, id]);
  return <div className={classes.part}>{content}</div>;
});

/** As Markdown; null where nobody could read it as that: it is too deep or too large for it. */
function read(text: string, from: number, id: string): ReactElement | null {
  if (isHopeless(text)) return null;
  try {
    // Called, not rendered: what it throws is caught here.
    return Markdown({
      children: text,
      components,
      remarkPlugins: [remarkGfm, keepUnused],
      rehypePlugins: [inert, [rehypeSanitize, schema], [readable, { from }]],
      remarkRehypeOptions: { clobberPrefix: `${id}-` },
      urlTransform: (address) => address,
    } satisfies Options);
  } catch {
    return null;
  }
}

function Plain({ text }: { text: string }) {
  return (
    <pre className={classes.plain} dir="auto">
      <Marked text={text} />
    </pre>
  );
}

const components: Components = {
  a: ({ node, href, children }) => (
    <Link href={href ?? ""} text={node === undefined ? "" : textOf(node)}>
      {children}
    </Link>
  ),
  pre: ({ node }) => {
    const code = node?.children.find((child): child is Element => child.type === "element");
    const names = code?.properties.className;
    const named = Array.isArray(names) ? names.find((name) => String(name).startsWith("language-")) : undefined;
    return <CodeBlock code={node === undefined ? "" : textOf(node)} language={String(named ?? "").slice(9)} />;
  },
  code: ({ children }) => (
    <code className={classes.inline} dir="ltr">
      {children}
    </code>
  ),
  table: ({ children }) => (
    <div className={classes.table} tabIndex={0} role="group" aria-label={strings.text.table}>
      <table>{children}</table>
    </div>
  ),
  input: ({ checked }) => (
    <span role="img" aria-label={checked ? strings.text.done : strings.text.notDone}>
      {checked ? "☑ " : "☐ "}
    </span>
  ),
};

function textOf(node: Nodes): string {
  if (node.type === "text") return node.value;
  return "children" in node ? node.children.map(textOf).join("") : "";
}
