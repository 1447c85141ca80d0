// What stands in the tab: how many requests wait, and which page this is. Composed here and nowhere else.

import { useEffect, useState } from "react";

import { strings } from "../strings";

interface Named {
  title: string;
}

/** The pages that are shown; the one that was opened last, beside another, gives its name. */
const shown: Named[] = [];
let waiting = 0;

function write(): void {
  document.title = strings.title(shown.at(-1)?.title ?? null, waiting);
}

/** The name of this page, for as long as it is shown. */
export function usePageTitle(title: string): void {
  const [page] = useState<Named>({ title });
  useEffect(() => {
    shown.push(page);
    return () => {
      shown.splice(shown.indexOf(page), 1);
      write();
    };
  }, [page]);
  useEffect(() => {
    page.title = title;
    write();
  }, [page, title]);
}

export function showWaiting(count: number): void {
  waiting = count;
  write();
}
