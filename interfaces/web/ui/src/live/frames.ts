// What the live stream says: what happened to which request, never what anybody wrote.

export const EVENT_TYPES = [
  "Requested",
  "Notified",
  "Reassigned",
  "Responded",
  "Cancelled",
  "Expired",
  "AnswerRefused",
  "Collected",
  "Acknowledged",
  "ContentErased",
  "Snoozed",
] as const;

export interface Frame {
  position: number;
  type: (typeof EVENT_TYPES)[number];
  request_id: string;
  unique_id: string;
  status: "Requested" | "Responded" | "Cancelled" | "Expired";
  assigned_to: string | null;
  list: string | null;
  priority: number;
  at: string;
  actor: string;
}

/** `connected`: nothing is missed while it lasts. */
export type Connection = "connecting" | "connected" | "lost";

export type Said =
  | { kind: "frame"; frame: Frame }
  /** What was read before may be out of date: read it afresh, at least as new as `position`. */
  | { kind: "resync"; position: number }
  | { kind: "connection"; connection: Connection }
  | { kind: "signed-out" };

/** What a tab tells the worker that holds the stream: it is there (again), it goes, or the network is back. */
export type Asked = "hello" | "bye" | "retry";
