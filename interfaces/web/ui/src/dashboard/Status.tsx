import { CheckIcon, CircleIcon, HourglassIcon, ReplyIcon, SkipIcon, XIcon } from "@primer/octicons-react";

import type { RequestItem } from "../api/client";
import { strings } from "../strings";
import classes from "./table.module.css";

const SHOWN = {
  open: CircleIcon,
  approved: CheckIcon,
  rejected: XIcon,
  answered: ReplyIcon,
  cancelled: SkipIcon,
  expired: HourglassIcon,
};

type Shown = keyof typeof SHOWN;

function shownAs({ status, outcome }: Pick<RequestItem, "status" | "outcome">): Shown {
  if (status === "Requested") return "open";
  if (status === "Cancelled") return "cancelled";
  if (status === "Expired") return "expired";
  return outcome ?? "answered";
}

/** How a request stands, by word and sign; the colour only helps. */
export function Status({ of }: { of: Pick<RequestItem, "status" | "outcome"> }) {
  const shown = shownAs(of);
  const Icon = SHOWN[shown];
  return (
    <span className={classes.status} data-status={shown}>
      <Icon size={14} />
      {strings.status[shown]}
    </span>
  );
}
