import type { RequestView } from "../api/client";
import { strings } from "../strings";

/** What the two buttons of an approval or review say. */
export function labelsOf({ labels }: RequestView): { approve: string; reject: string } {
  return { approve: labels?.["approve"] ?? strings.form.approve, reject: labels?.["reject"] ?? strings.form.reject };
}
