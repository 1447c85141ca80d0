// The service worker, as pages see it: there only once somebody turned notifications on.

const SCRIPT = "/service-worker.js";

export interface OpenRequest {
  open: string;
}

function container(): ServiceWorkerContainer | null {
  return "serviceWorker" in navigator ? navigator.serviceWorker : null;
}

/** Undefined where there is none, or none that works yet. */
export async function registration(): Promise<ServiceWorkerRegistration | undefined> {
  const found = await container()?.getRegistration("/");
  return found?.active == null ? undefined : found;
}

/** Puts it in place. Throws where the browser cannot, or will not. */
export async function register(): Promise<ServiceWorkerRegistration> {
  const found = container();
  if (found === null) throw new Error("no service workers here");
  await found.register(SCRIPT);
  return await found.ready;
}

/** Calls `open` when somebody clicked a notification that the worker shows. Returns how to stop. */
export function onOpen(open: (url: string) => void): () => void {
  const hear = ({ data }: MessageEvent<Partial<OpenRequest> | null>) => {
    if (typeof data?.open === "string" && data.open.startsWith("/")) open(data.open);
  };
  container()?.addEventListener("message", hear);
  return () => container()?.removeEventListener("message", hear);
}
