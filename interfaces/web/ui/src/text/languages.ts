// Names that agents give to the languages of code blocks.

const KNOWN: Record<string, string> = {
  bash: "bash", sh: "bash", shell: "bash", zsh: "bash", console: "bash",
  dockerfile: "dockerfile", docker: "dockerfile",
  go: "go", golang: "go",
  ini: "ini", toml: "ini", conf: "ini",
  java: "java",
  javascript: "javascript", js: "javascript", jsx: "javascript", mjs: "javascript",
  json: "json", jsonc: "json",
  python: "python", py: "python",
  rust: "rust", rs: "rust",
  sql: "sql", postgresql: "sql",
  typescript: "typescript", ts: "typescript", tsx: "typescript",
  xml: "xml", html: "xml", svg: "xml",
  yaml: "yaml", yml: "yaml",
}; // prettier-ignore

/** The language to colour a block as; null for one that we do not know. */
export function languageOf(name: string): string | null {
  const known = name.toLowerCase();
  return Object.hasOwn(KNOWN, known) ? KNOWN[known]! : null;
}

export function isDiff(name: string): boolean {
  return name === "diff" || name === "patch";
}
