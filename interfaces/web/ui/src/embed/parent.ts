// What the page around an embedded one is told. Facts only, never what anybody wrote.

export type Told =
  | { type: "size"; height: number }
  | { type: "answered"; request_id: string; by: string }
  | { type: "closed"; request_id: string }
  | { type: "signed-out" };

export function tellParent(told: Told): void {
  if (parent === window) return;
  // To any origin: which pages may be around this one is what the server's frame-ancestors policy says.
  parent.postMessage({ source: "handraise", ...told }, "*");
}
