// One stream for all tabs of this browser: a seventh tab must not wait for a connection that six others hold.

/// <reference lib="webworker" />
import { connect, type Stream } from "./connect";
import type { Asked, Connection, Said } from "./frames";

declare const self: SharedWorkerGlobalScope;

const ports = new Set<MessagePort>();
let stream: Stream | null = null;
let connection: Connection = "connecting";
/** The newest that was told of: a new tab must not read anything older, as it is not told again. */
let position: number | null = null;

function tellAll(said: Said): void {
  if (said.kind === "resync") position = said.position;
  if (said.kind === "frame") position = said.frame.position;
  if (said.kind === "connection") connection = said.connection;
  for (const port of ports) port.postMessage(said);
}

self.onconnect = (event) => {
  const port = event.ports[0];
  if (port === undefined) return;
  ports.add(port);
  port.onmessage = ({ data }: MessageEvent<Asked>) => {
    if (data === "bye") ports.delete(port);
    else ports.add(port);
    if (data === "retry") stream?.retry();
  };
  stream ??= connect(tellAll, false);
  port.postMessage({ kind: "connection", connection } satisfies Said);
  if (position !== null) port.postMessage({ kind: "resync", position } satisfies Said);
};
