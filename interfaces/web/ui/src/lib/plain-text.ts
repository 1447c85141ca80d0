// The beginning of a Markdown text as one line of plain text, where there is no room for more.

/** Characters that turn the direction of what follows them: the full text shows them, a line drops them. */
const TURNING = /[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/g;

const MARKUP: [RegExp, string][] = [
  [/^[ \t]*(`{3,}|~{3,}).*$/gm, " "], // fences of code
  [/^[ \t]*([-*_][ \t]*){3,}$/gm, " "], // rules
  [/^[ \t]*(#{1,6}[ \t]+|>[ \t]?)+/gm, " "], // headings, quotes
  [/\s*^[ \t]*[-*+][ \t]+(\[[ xX]\][ \t]+)?/gm, " · "], // list items
  [/!?\[([^\]\n]*)\]\([^()\n]*(\([^()\n]*\)[^()\n]*)*\)/g, "$1"], // links and images
  [/(`+)([^`\n]+?)\1/g, "$2"],
  [/(\*\*|__|~~)(?=\S)(.+?)(?<=\S)\1/g, "$2"],
  [/(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=\S)\*(?![\w*])/g, "$1"],
  [/(?<![\w_])_(?=[^\s_])([^_\n]+?)(?<=\S)_(?![\w_])/g, "$1"],
  [/\\([\\`*_{}[\]()#+\-.!~>|])/g, "$1"],
];

export function plainText(markdown: string): string {
  const bare = MARKUP.reduce((text, [markup, instead]) => text.replace(markup, instead), markdown);
  return bare.replace(TURNING, "").replace(/\s+/g, " ").replace(/^ ?(· )?/, "").trim();
}
