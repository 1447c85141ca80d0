// Which requests one means to change: kept while paging, forgotten when the filters change.

import { useState } from "react";

import type { RequestItem } from "../api/client";

export interface Selection {
  chosen: ReadonlyMap<string, RequestItem>;
  isWhole: (items: RequestItem[]) => boolean;
  isPart: (items: RequestItem[]) => boolean;
  /** One row; with `range` all from the one before to it. */
  toggle: (item: RequestItem, items: RequestItem[], range: boolean) => void;
  toggleAll: (items: RequestItem[]) => void;
  clear: () => void;
}

/** Only what is open can be changed. */
export function canBeChosen(item: RequestItem): boolean {
  return item.status === "Requested";
}

export function useSelection(of: string): Selection {
  const [state, setState] = useState<{ of: string; chosen: ReadonlyMap<string, RequestItem>; last: string | null }>({
    of,
    chosen: new Map(),
    last: null,
  });
  const current = state.of === of ? state : { of, chosen: new Map<string, RequestItem>(), last: null };
  const { chosen, last } = current;
  const choose = (items: RequestItem[], on: boolean, lastOne: string | null) => {
    const next = new Map(chosen);
    for (const item of items) {
      if (on && (canBeChosen(item) || next.has(item.id))) next.set(item.id, item);
      else if (!on) next.delete(item.id);
    }
    setState({ of, chosen: next, last: lastOne });
  };
  const choosable = (items: RequestItem[]) => items.filter(canBeChosen);
  const isWhole = (items: RequestItem[]) =>
    choosable(items).length > 0 && choosable(items).every(({ id }) => chosen.has(id));
  return {
    chosen,
    isWhole,
    isPart: (items) => !isWhole(items) && items.some(({ id }) => chosen.has(id)),
    toggle: (item, items, range) => {
      const on = !chosen.has(item.id);
      const here = items.findIndex(({ id }) => id === item.id);
      const before = range ? items.findIndex(({ id }) => id === last) : -1;
      const meant = before === -1 ? [item] : items.slice(Math.min(here, before), Math.max(here, before) + 1);
      choose(meant, on, item.id);
    },
    toggleAll: (items) => choose(items, !isWhole(items), null),
    clear: () => setState({ of, chosen: new Map(), last: null }),
  };
}
