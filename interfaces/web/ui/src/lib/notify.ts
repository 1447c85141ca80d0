// A word at the edge of the page: what was done, or why not.

import { notifications } from "@mantine/notifications";

import { strings } from "../strings";
import { reasonOf } from "./State";

const shown = { withBorder: true, closeButtonProps: { "aria-label": strings.shell.dismiss } };

export function say(message: string): void {
  notifications.show({ message, autoClose: 5_000, ...shown });
}

export function complain(error: unknown): void {
  notifications.show({ message: reasonOf(error), color: "red", autoClose: 10_000, ...shown });
}
