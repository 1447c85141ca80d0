// One of all tabs tells of each thing that happens.

const KEY = "handraise told";
const MOST = 200;
/** A tab that has the focus goes first: it may know that there is no need to tell. */
const AFTER_THE_FOCUSED_MS = 200;
/** How long the tab that tells keeps others from it: what it has stored takes a while to be seen by all of them. */
const HELD_MS = 5_000;

/** Calls `tell` in one tab only, for each `what`. */
export async function once(what: string, tell: () => Promise<void>): Promise<void> {
  if (!document.hasFocus()) await new Promise((resolve) => setTimeout(resolve, AFTER_THE_FOCUSED_MS));
  if (!("locks" in navigator)) return isFirst(what) ? tell() : undefined;
  await navigator.locks.request(`handraise told ${what}`, { ifAvailable: true }, async (lock) => {
    if (lock === null || !(await navigator.locks.request("handraise notifications", () => isFirst(what)))) return;
    await tell();
    await new Promise((resolve) => setTimeout(resolve, HELD_MS));
  });
}

function isFirst(what: string): boolean {
  try {
    const told = (localStorage.getItem(KEY) ?? "").split(" ");
    if (told.includes(what)) return false;
    localStorage.setItem(KEY, [...told, what].slice(-MOST).join(" "));
  } catch {
    // nothing is kept here: the tag still makes one notification of several
  }
  return true;
}
