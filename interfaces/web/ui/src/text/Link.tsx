// A link to elsewhere. Where its text looks like an address, the one that it really leads to is shown.

import { Anchor, Text } from "@mantine/core";
import type { ReactNode } from "react";

import { strings } from "../strings";
import { pieces } from "./hidden";

const LOOKS_LIKE_AN_ADDRESS = /(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}/u;

export function Link({ href, text, children }: { href: string; text: string; children: ReactNode }) {
  const host = hiddenHost(href, text);
  return (
    <>
      <Anchor href={href} target="_blank" rel="noopener noreferrer nofollow" title={href} underline="always">
        {children}
      </Anchor>
      {host !== null && (
        <Text span size="sm" c="dimmed">
          {" "}
          ({strings.text.leadsTo(host)})
        </Text>
      )}
    </>
  );
}

/** Where the link leads, if its text says, or may be taken to say, something else. */
function hiddenHost(href: string, text: string): string | null {
  const readable = pieces(text)
    .filter((part) => typeof part === "string")
    .join("");
  const claimed = LOOKS_LIKE_AN_ADDRESS.exec(readable)?.[0].toLowerCase();
  if (claimed === undefined) return null;
  const real = hostOf(href);
  return real === null || claimed === real || `www.${claimed}` === real ? null : real;
}

function hostOf(href: string): string | null {
  try {
    const url = new URL(href);
    return url.protocol === "mailto:" ? (url.pathname.split("@").at(-1) ?? null) : url.hostname;
  } catch {
    return null;
  }
}
