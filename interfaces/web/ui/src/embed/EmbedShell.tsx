// A page of ours inside another application's: without the frame, signed in by the token it was loaded with.

import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { Router, useRoute } from "wouter";

import { answer, api, Refused, SIGNED_OUT } from "../api/client";
import { begin } from "../api/session";
import { Empty, Failure, Loading } from "../lib/State";
import { follow, useFrames } from "../live/live";
import { Boundary } from "../shell/Boundary";
import { ConnectionBar } from "../shell/ConnectionBar";
import { Pages } from "../shell/Pages";
import { strings } from "../strings";
import classes from "./EmbedShell.module.css";
import { tellParent } from "./parent";

const RequestPanel = lazy(() => import("../request/RequestPanel"));

export function EmbedShell() {
  const queries = useQueryClient();
  const [user, setUser] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [over, setOver] = useState(false);
  const begun = useRef<Promise<unknown> | null>(null); // the token works once, however often effects run

  useEffect(() => {
    const end = () => {
      setOver(true);
      tellParent({ type: "signed-out" });
    };
    addEventListener(SIGNED_OUT, end);
    begun.current ??= enter().then(
      (me) => {
        queries.setQueryData(["me"], me);
        setUser(me.id);
      },
      (reason: unknown) => {
        if (!(reason instanceof Refused && reason.status === 401)) setError(reason);
      },
    );
    return () => removeEventListener(SIGNED_OUT, end);
  }, [queries]);

  useEffect(() => (user === null || over ? undefined : follow(user)), [user, over]);

  if (over) return <Empty title={strings.embed.over}>{strings.embed.reload}</Empty>;
  if (error !== null) return <Failure error={error} />;
  if (user === null) return <Loading />;
  return (
    <Router base="/embed">
      <Boundary>
        <Suspense fallback={<Loading />}>
          <Embedded />
        </Suspense>
      </Boundary>
    </Router>
  );
}

async function enter() {
  const token = location.hash.slice(1);
  if (token !== "") {
    history.replaceState(null, "", location.pathname);
    await answer(api.POST("/api/session/embed", { body: { token } }));
  }
  return await begin();
}

function Embedded() {
  const [alone, params] = useRoute("/requests/:id");
  const first = useRef(alone).current; // whether the frame was made for one request, or came to it from the inbox
  useFrames((frames) => {
    if (frames === "resync") return;
    for (const { type, request_id, actor } of frames) {
      if (type === "Responded") tellParent({ type: "answered", request_id, by: actor });
    }
  });
  if (first && params !== null) return <Alone id={params.id} />;
  return (
    <main className={classes.inbox}>
      <ConnectionBar />
      <Pages />
    </main>
  );
}

/** As high as its content: the page around it is told, and gives it that room. */
function Alone({ id }: { id: string }) {
  const content = useRef<HTMLElement>(null);
  useEffect(() => {
    const measured = content.current!;
    const observer = new ResizeObserver(() => tellParent({ type: "size", height: Math.ceil(measured.scrollHeight) }));
    observer.observe(measured);
    return () => observer.disconnect();
  }, []);
  return (
    <main ref={content}>
      <ConnectionBar />
      <RequestPanel id={id} onClose={() => tellParent({ type: "closed", request_id: id })} />
    </main>
  );
}
