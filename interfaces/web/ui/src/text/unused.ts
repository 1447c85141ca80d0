// Definitions that nothing refers to vanish from a Markdown document: here they stay, as they were written.

import type { Nodes, Root, RootContent } from "mdast";
import type { VFile } from "vfile";

export function keepUnused() {
  return (tree: Root, file: VFile): void => {
    const used = new Set<string>();
    const definitions: Nodes[] = [];
    const waiting: Nodes[] = [tree];
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      if (node.type === "linkReference" || node.type === "imageReference") used.add(`d ${node.identifier}`);
      if (node.type === "footnoteReference") used.add(`f ${node.identifier}`);
      if (node.type === "definition" || node.type === "footnoteDefinition") definitions.push(node);
      if ("children" in node) waiting.push(...node.children);
    }
    const seen = new Set<string>();
    for (const node of definitions.reverse()) {
      if (node.type !== "definition" && node.type !== "footnoteDefinition") continue;
      const key = `${node.type === "definition" ? "d" : "f"} ${node.identifier}`;
      if (used.has(key) && !seen.has(key)) {
        seen.add(key);
        continue;
      }
      const { start, end } = node.position ?? {};
      const source = String(file).slice(start?.offset ?? 0, end?.offset ?? 0);
      const shown: RootContent = { type: "paragraph", children: [{ type: "text", value: source }] };
      Object.assign(node, { identifier: undefined, ...shown });
    }
  };
}
