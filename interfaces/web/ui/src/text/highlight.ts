// Colours for code, loaded when there is some.

import type { Element, ElementContent, Root } from "hast";
import bash from "highlight.js/lib/languages/bash";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import rehypeHighlight from "rehype-highlight";

const languages = {
  bash, dockerfile, go, ini, java, javascript, json, python, rust, sql, typescript, xml, yaml,
}; // prettier-ignore

const transform = rehypeHighlight({ languages, prefix: "hl-" });

/** The code as text and spans with classes `hl-…`; unknown languages stay as they are. */
export function highlighted(code: string, language: string): ElementContent[] {
  const element: Element = {
    type: "element",
    tagName: "code",
    properties: { className: [`language-${language}`] },
    children: [{ type: "text", value: code }],
  };
  const pre: Element = { type: "element", tagName: "pre", properties: {}, children: [element] };
  const tree: Root = { type: "root", children: [pre] };
  transform(tree, { message: () => undefined } as never); // for complaints about unknown languages
  return element.children;
}
