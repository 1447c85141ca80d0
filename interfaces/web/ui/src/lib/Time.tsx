// An instant, in words that move with the clock; the exact one on hover and for assistive technology.

import { Text, type TextProps } from "@mantine/core";

import { ago, clock, exact, left, useNow } from "./time";

interface Props extends TextProps {
  at: string;
  as?: "ago" | "left" | "clock";
}

export function Time({ at, as = "ago", ...props }: Props) {
  const now = useNow();
  const shown = as === "ago" ? ago(at, now) : as === "left" ? left(at, now) : clock(at, now);
  return (
    <Text component="time" inherit dateTime={at} title={exact(at)} {...props}>
      {shown}
    </Text>
  );
}
