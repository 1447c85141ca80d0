// What was filled in and not saved is not lost by a click on a link, or by closing the tab.

import { useEffect } from "react";

import { strings } from "../strings";

export function useLeaveGuard(dirty: boolean): void {
  useEffect(() => {
    if (!dirty) return;
    const leave = (event: BeforeUnloadEvent) => event.preventDefault();
    const follow = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
      if (link === null || link.getAttribute("href")?.startsWith("#") || link.hasAttribute("download")) return;
      if (event.ctrlKey || event.metaKey || event.shiftKey || link.getAttribute("target") === "_blank") return;
      if (confirm(strings.settings.discardQuestion)) return;
      event.preventDefault();
      event.stopPropagation();
    };
    addEventListener("beforeunload", leave);
    document.addEventListener("click", follow, true);
    return () => {
      removeEventListener("beforeunload", leave);
      document.removeEventListener("click", follow, true);
    };
  }, [dirty]);
}
