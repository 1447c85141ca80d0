// Categories as the tree that they are.

import type { Category } from "./kinds";

export interface Branch {
  category: Category;
  below: Branch[];
}

function byName(a: Category, b: Category): number {
  return (a.name ?? a.id).localeCompare(b.name ?? b.id);
}

/** The root and all below it; of those that `wanted` says no to, only what something wanted stands below. */
export function branches(categories: Category[], wanted: (category: Category) => boolean): Branch[] {
  const below = (parent: string | null): Branch[] =>
    categories
      .filter((category) => category.parent === parent)
      .sort(byName)
      .map((category) => ({ category, below: below(category.id) }))
      .filter((branch) => branch.below.length > 0 || wanted(branch.category));
  return below(null);
}

/** The nearest category above that has a strategy. */
export function inheritedFrom(categories: Category[], parent: string | null): Category | undefined {
  const byId = new Map(categories.map((category) => [category.id, category]));
  let above = parent === null ? undefined : byId.get(parent);
  while (above !== undefined && above.assignment_strategy === null) {
    above = above.parent === null ? undefined : byId.get(above.parent);
  }
  return above;
}

/** A category and all below it: none of them can stand above it. */
export function family(categories: Category[], id: string): Set<string> {
  const found = new Set([id]);
  for (const each of found) {
    for (const { id: child, parent } of categories) if (parent === each) found.add(child);
  }
  return found;
}
