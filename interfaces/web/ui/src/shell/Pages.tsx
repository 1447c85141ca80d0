// Which page an address stands for. A request opens beside the list that it was opened from.

import { Anchor } from "@mantine/core";
import { lazy, Suspense, useEffect , type ReactNode } from "react";
import { Link, Route, Switch, useLocation, useRoute } from "wouter";

import { InboxPage } from "../inbox/InboxPage";
import { Empty, Loading } from "../lib/State";
import { strings } from "../strings";
import { Boundary } from "./Boundary";
import { lastList, listBehind } from "./last-list";
import classes from "./Pages.module.css";

const RequestPanel = lazy(() => import("../request/RequestPanel"));
const DashboardPage = lazy(() => import("../dashboard/DashboardPage"));
const AuditPage = lazy(() => import("../audit/AuditPage"));
const RoutingPage = lazy(() => import("../routing/RoutingPage"));
const SettingsPages = lazy(() => import("../settings/SettingsPages"));
const ProfilePage = lazy(() => import("../settings/ProfilePage"));

export function Pages() {
  const [path, navigate] = useLocation();
  const [isRequest, params] = useRoute("/requests/:id");
  // Noted while rendering: an address changed by hand and one changed by us look the same here.
  if (!isRequest) lastList.path = path + location.search;
  const shown = listBehind(path);

  // Written for the list behind an open request: its filters stay in the address bar when the request closes.
  const close = () => navigate(lastList.path);
  useEffect(() => {
    if (path === "/") navigate("/inbox", { replace: true });
  }, [path, navigate]);

  return (
    <div className={classes.pages} data-open={isRequest || undefined}>
      <div className={classes.list}>
        <Switch location={shown}>
          <Route path="/">
            <InboxPage scope="mine" openId={null} />
          </Route>
          <Route path="/inbox/:scope?">
            {({ scope }) => <InboxPage scope={scopeOf(scope)} openId={params?.id ?? null} />}
          </Route>
          <Route path="/dashboard">
            <DashboardPage openId={params?.id ?? null} />
          </Route>
          <Route path="/audit" component={AuditPage} />
          <Route path="/routing" component={RoutingPage} />
          <Route path="/settings/*?" component={SettingsPages} />
          <Route path="/profile" component={ProfilePage} />
          <Route>
            <NotFound />
          </Route>
        </Switch>
      </div>
      {isRequest && (
        <Panel id={params.id}>
          <RequestPanel key={params.id} id={params.id} onClose={close} />
        </Panel>
      )}
    </div>
  );
}

export type Scope = "mine" | "shared" | "all";

function scopeOf(text: string | undefined): Scope {
  return text === "shared" || text === "all" ? text : "mine";
}

/** Whatever becomes of the panel, the list beside it stays. */
function Panel({ id, children }: { id: string; children: ReactNode }) {
  return (
    <div className={classes.panel}>
      <Boundary page={id}>
        <Suspense fallback={<Loading />}>{children}</Suspense>
      </Boundary>
    </div>
  );
}

function NotFound() {
  return (
    <Empty title={strings.shell.notFound}>
      <Anchor component={Link} href="/inbox">
        {strings.shell.toInbox}
      </Anchor>
    </Empty>
  );
}
