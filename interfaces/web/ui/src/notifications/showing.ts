// Shows and closes the notification of a request: by the service worker where there is one, else by the page.

import { register, registration } from "./worker";

const SHOWN_MS = 30_000;

export interface Notice {
  title: string;
  body: string;
  tag: string;
  url: string;
  urgent: boolean;
}

const ofThisPage = new Map<string, Notification>();

/** Never throws: who cannot be told here sees the request in the list all the same. Whether it was shown. */
export async function show(notice: Notice, open: (url: string) => void): Promise<boolean> {
  const { title, body, tag, url, urgent } = notice;
  const options = { body, tag, icon: "/icon-192.png", requireInteraction: urgent };
  try {
    const worker = await registration();
    if (worker !== undefined) await worker.showNotification(title, { ...options, badge: "/icon-192.png", data: { url } });
    else if (!showHere(title, options, url, open))
      await (await register()).showNotification(title, { ...options, data: { url } });
  } catch {
    return false;
  }
  if (!urgent) setTimeout(() => void close(tag), SHOWN_MS);
  return true;
}

/** On Android the constructor throws: there only a service worker may show any. */
function showHere(title: string, options: NotificationOptions & { tag: string }, url: string, open: (url: string) => void) {
  try {
    const shown = new Notification(title, options);
    ofThisPage.set(options.tag, shown);
    shown.onclick = () => {
      window.focus();
      shown.close();
      open(url);
    };
    return true;
  } catch {
    return false;
  }
}

export async function close(tag: string): Promise<void> {
  ofThisPage.get(tag)?.close();
  ofThisPage.delete(tag);
  try {
    const shown = (await (await registration())?.getNotifications({ tag })) ?? [];
    for (const each of shown) each.close();
  } catch {
    // what cannot be asked for cannot be closed
  }
}

/** The tags of all notifications that are to be seen, as far as this page can know. */
export async function shownTags(): Promise<string[]> {
  try {
    const byWorker = (await (await registration())?.getNotifications()) ?? [];
    return [...ofThisPage.keys(), ...byWorker.map(({ tag }) => tag)];
  } catch {
    return [...ofThisPage.keys()];
  }
}
