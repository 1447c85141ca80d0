// The whole directory as one document, and how two of them differ.

export const SECTIONS = ["users", "lists", "agents", "agent_types", "categories", "request_types"] as const;
export type Section = (typeof SECTIONS)[number];

export type Document = { [section in Section]?: Record<string, unknown>[] };

export interface Difference {
  section: Section;
  id: string;
  isNew: boolean;
}

export function sizeOf(document: Document): number {
  const sizes = SECTIONS.map((section) => document?.[section]).map((entries) =>
    Array.isArray(entries) ? entries.length : 0,
  );
  return sizes.reduce((all, size) => all + size, 0);
}

/** What is new, or not as it was. */
export function differences(before: Document, now: Document): Difference[] {
  return SECTIONS.flatMap((section) => {
    const known = new Map(before[section]?.map((entry) => [entry.id, JSON.stringify(entry)]));
    return (now[section] ?? [])
      .filter((entry) => known.get(entry.id) !== JSON.stringify(entry))
      .map((entry) => ({ section, id: String(entry.id), isNew: !known.has(entry.id) }));
  });
}
