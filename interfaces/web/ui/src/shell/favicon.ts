// The icon of the tab, with the number of waiting requests on it: to be seen among many tabs.

const MOST_SHOWN = 99;

function drawn(count: number): string {
  const text = count > MOST_SHOWN ? `${MOST_SHOWN}+` : `${count}`;
  const size = [42, 34, 25][text.length - 1];
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">
    <rect width="64" height="64" rx="14" fill="#4c5fd5"/>
    <path d="M15 36V19.5a3.2 3.2 0 0 1 6.400 0V31h1.400V14.800a3.200 3.200 0 0 1 6.400 0V31h1.400V18.5a3.2 3.2 0 0 1 6.400 0V39c0 8.2-5.4 14-13 14-6.2 0-9.5-2.7-12.2-7.6l-6-10.800c-1.800-3.300 2.400-6 4.8-3.2z" fill="#fff"/>
    <circle cx="42" cy="42" r="22" fill="#d6293e"/>
    <text x="42" y="43" font-family="system-ui, sans-serif" font-weight="700" font-size="${size}" fill="#fff" text-anchor="middle" dominant-baseline="central">${text}</text>
  </svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

export function showOnIcon(count: number): void {
  const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  if (link !== null) link.href = count === 0 ? "/icon.svg" : drawn(count);
  // The icon of the installed application, where there is one.
  if (typeof navigator.setAppBadge === "function") void navigator.setAppBadge(count).catch(() => undefined);
}
