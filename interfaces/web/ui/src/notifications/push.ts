// Web Push on this device: word of a request also while no page is open.

import { answer, api } from "../api/client";
import { strings } from "../strings";
import { register, registration } from "./worker";

export function canPush(): boolean {
  return isSecureContext && "serviceWorker" in navigator && "PushManager" in window;
}

async function subscription(): Promise<PushSubscription | null> {
  return (await (await registration())?.pushManager.getSubscription()) ?? null;
}

export async function isSubscribed(): Promise<boolean> {
  return canPush() && (await subscription()) !== null;
}

/** Throws where the browser cannot, and `Refused` where the server will not. */
export async function subscribe(): Promise<void> {
  const { pushManager } = await register();
  const { public_key } = await answer(api.GET("/api/push", {}));
  const made = await subscribeWith(pushManager, public_key);
  try {
    await answer(api.POST("/api/push/subscriptions", { body: asSent(made) }));
  } catch (error) {
    await made.unsubscribe(); // known to nobody, it would only look as if it worked
    throw error;
  }
}

async function subscribeWith(manager: PushManager, key: string): Promise<PushSubscription> {
  const options = { userVisibleOnly: true, applicationServerKey: key };
  try {
    return await manager.subscribe(options);
  } catch (error) {
    const old = await manager.getSubscription();
    // Subscribed with another key, such as that of an installation that was set up anew.
    if (old !== null && (await old.unsubscribe())) return await subscribeWith(manager, key);
    throw new Error(strings.notifications.pushUnavailable, { cause: error });
  }
}

export async function unsubscribe(): Promise<void> {
  const made = await subscription();
  if (made === null) return;
  await made.unsubscribe();
  // First the browser: what the server still sends then reaches nobody, and the push service tells it so.
  await answer(api.DELETE("/api/push/subscriptions", { body: { endpoint: made.endpoint } })).catch(() => undefined);
}

/** Whoever is signed in is told here: the server may not know yet, or know somebody else. */
export async function renew(): Promise<void> {
  try {
    const made = canPush() && Notification.permission === "granted" ? await subscription() : null;
    if (made !== null) await answer(api.POST("/api/push/subscriptions", { body: asSent(made) }));
  } catch {
    // the settings show how it stands
  }
}

function asSent(made: PushSubscription) {
  const { endpoint = "", keys } = made.toJSON();
  return { endpoint, keys: { p256dh: keys?.p256dh ?? "", auth: keys?.auth ?? "" } };
}
