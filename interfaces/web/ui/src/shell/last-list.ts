/** The page, with its filters, that stands behind an open request and comes back when it closes. */
export const lastList = { path: "/inbox" };

/** The page that is shown for an address, without its filters: a request stands beside the list it was opened from. */
export function listBehind(path: string): string {
  return path.startsWith("/requests/") ? lastList.path.split("?")[0]! : path;
}
