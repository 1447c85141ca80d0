// What is done to a text's tree between Markdown and the page. Nothing that the agent wrote gets lost on the way.

import type { Element, ElementContent, Nodes, Root, Text } from "hast";
import { defaultSchema } from "rehype-sanitize";

import { strings } from "../strings";
import { pieces } from "./hidden";
import classes from "./text.module.css";

/** More levels than anybody writes by hand; a page of many more does not survive. */
const DEEPEST = 60;
const OWN_DIRECTION = new Set(["p", "li", "td", "th", "h1", "h2", "h3", "h4", "h5", "h6"]);
const SAFE = /^(https?|mailto):/i;
const SHOWN_ADDRESS = 200;

export const schema = {
  ...defaultSchema,
  clobber: [],
  tagNames: (defaultSchema.tagNames ?? []).filter((name) => name !== "section"),
};

/** Calls `visit` for every child, `visit` says what stands in its place. */
function replaceChildren(parent: Root | Element, visit: (child: ElementContent) => ElementContent[], depth = 0): void {
  if (depth > DEEPEST) throw new RangeError("nested too deeply");
  const children: ElementContent[] = [];
  for (const child of parent.children as ElementContent[]) {
    // Code blocks are shown by a component of their own, from their text.
    if (child.type === "element" && child.tagName !== "pre") replaceChildren(child, visit, depth + 1);
    children.push(...visit(child));
  }
  parent.children = children;
}

const text = (value: string): Text => ({ type: "text", value });

/** HTML is shown as it was written, and links that lead nowhere safe as text, with where they would have led. */
export function inert() {
  return (tree: Root): void => {
    replaceChildren(tree, (child) => {
      if ((child as Nodes | { type: "raw" }).type === "raw") return [text((child as unknown as Text).value)];
      if (child.type !== "element") return [child];
      if (child.tagName === "a") return link(child);
      if (child.tagName === "img") return image(child);
      return [child];
    });
  };
}

function link(element: Element): ElementContent[] {
  const address = String(element.properties.href ?? "");
  if (SAFE.test(address)) return [element];
  if (address === "" || address.startsWith("#")) return element.children; // footnotes
  return [...element.children, text(` (${shortened(address)})`)];
}

/** An image would tell its server who looks, and when: it is a link. */
function image(element: Element): ElementContent[] {
  const address = String(element.properties.src ?? "");
  const label = text(strings.text.image(String(element.properties.alt ?? "")));
  if (!SAFE.test(address)) return [label, text(` (${shortened(address)})`)];
  return [{ type: "element", tagName: "a", properties: { href: address }, children: [label] }];
}

function shortened(address: string): string {
  const more = address.length - SHOWN_ADDRESS;
  return more > 0 ? `${address.slice(0, SHOWN_ADDRESS)}… ${strings.text.moreCharacters(more)}` : address;
}

/** Headings below the page's own, without gaps; each paragraph in its own direction; hidden characters shown. */
export function readable({ from }: { from: number }) {
  return (tree: Root): void => {
    const open: number[] = [];
    outline(tree, from, open);
    replaceChildren(tree, (child) => {
      if (child.type === "text") return marked(child.value);
      if (child.type === "element" && OWN_DIRECTION.has(child.tagName)) child.properties.dir = "auto";
      return [child];
    });
  };
}

function outline(parent: Root | Element, from: number, open: number[]): void {
  for (const child of parent.children) {
    if (child.type !== "element") continue;
    const rank = /^h([1-6])$/.exec(child.tagName)?.[1];
    if (rank === undefined) {
      outline(child, from, open);
      continue;
    }
    while (open.length > 0 && open.at(-1)! >= Number(rank)) open.pop();
    open.push(Number(rank));
    child.tagName = `h${Math.min(6, from + open.length - 1)}`;
  }
}

function marked(value: string): ElementContent[] {
  return pieces(value).map((part) =>
    typeof part === "string"
      ? text(part)
      : {
          type: "element",
          tagName: "span",
          properties: { className: [classes.mark!], title: strings.text.hidden(part.label), dir: "ltr" },
          children: [text(`⟨${part.label}⟩`)],
        },
  );
}
