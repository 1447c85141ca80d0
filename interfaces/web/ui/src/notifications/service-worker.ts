// Shows what is pushed while no page is open, and opens the request that a notification is of. Keeps nothing.

/// <reference lib="webworker" />
declare const self: ServiceWorkerGlobalScope;

// Nothing is imported: this stays one file at one address.
const TITLE = "Human feedback required";
const BODY = "You are asked to answer a request.";
/** Pages that do not listen to us. */
const ELSEWHERE = /^\/(embed|sign-in|docs|api|openapi\.json)(\/|$)/;

interface Pushed {
  title: string;
  body: string;
  url: string;
  tag: string;
  urgent: boolean;
}

self.addEventListener("install", () => void self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  const { title, body, url, tag, urgent } = understood(event.data);
  const options = {
    body,
    tag,
    icon: "/icon-192.png",
    badge: "/icon-192.png",
    requireInteraction: urgent,
    data: { url },
  };
  // Shown even to those who look at us: a browser takes the subscription from who does not show what is pushed.
  event.waitUntil(self.registration.showNotification(title, options));
});

function understood(data: PushMessageData | null): Pushed {
  let said: Partial<Record<keyof Pushed, unknown>> = {};
  try {
    const parsed: unknown = data?.json();
    if (typeof parsed === "object" && parsed !== null) said = parsed;
  } catch {
    // not of ours, or cut: still something was said
  }
  const text = (value: unknown, otherwise: string) => (typeof value === "string" && value !== "" ? value : otherwise);
  const url = text(said.url, "/inbox");
  return {
    title: text(said.title, TITLE),
    body: text(said.body, BODY),
    url: url.startsWith("/") && !url.startsWith("//") ? url : "/inbox",
    tag: text(said.tag, "handraise"),
    urgent: said.urgent === true,
  };
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { url } = (event.notification.data ?? {}) as { url?: unknown };
  event.waitUntil(open(typeof url === "string" ? url : "/inbox"));
});

async function open(url: string): Promise<void> {
  const found = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const pages = found.filter((page) => !ELSEWHERE.test(new URL(page.url).pathname));
  const page = pages.find(({ focused }) => focused) ?? pages.find(isVisible) ?? pages[0];
  if (page === undefined) {
    await self.clients.openWindow(url);
    return;
  }
  page.postMessage({ open: url });
  await page.focus();
}

function isVisible(page: WindowClient): boolean {
  return page.visibilityState === "visible";
}

// Not in the types yet.
interface SubscriptionChange extends ExtendableEvent {
  readonly oldSubscription: PushSubscription | null;
  readonly newSubscription: PushSubscription | null;
}

self.addEventListener("pushsubscriptionchange", (event) => {
  const change = event as SubscriptionChange;
  change.waitUntil(subscribeAgain(change));
});

async function subscribeAgain({ oldSubscription, newSubscription }: SubscriptionChange): Promise<void> {
  const options = oldSubscription?.options;
  if (newSubscription === null && options === undefined) return;
  const made = newSubscription ?? (await self.registration.pushManager.subscribe(options));
  const session = await fetch("/api/session");
  if (!session.ok) return; // nobody is signed in: the next page that is opened says whose it is
  const { csrf_token } = (await session.json()) as { csrf_token: string };
  await fetch("/api/push/subscriptions", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf_token },
    body: JSON.stringify(made),
  });
}

export {};
