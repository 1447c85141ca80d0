import {
  BellIcon,
  CheckIcon,
  CircleIcon,
  EyeClosedIcon,
  GearIcon,
  HourglassIcon,
  KeyIcon,
  MoonIcon,
  PersonIcon,
  ReplyIcon,
  SignInIcon,
  SignOutIcon,
  SkipIcon,
  StopIcon,
  XIcon,
} from "@primer/octicons-react";

import classes from "./audit.module.css";

const ICONS: Record<string, typeof CircleIcon> = {
  Requested: CircleIcon,
  Responded: ReplyIcon,
  Cancelled: SkipIcon,
  Expired: HourglassIcon,
  Reassigned: PersonIcon,
  Notified: BellIcon,
  AnswerRefused: StopIcon,
  Snoozed: MoonIcon,
  Collected: KeyIcon,
  Acknowledged: CheckIcon,
  ContentErased: EyeClosedIcon,
  Removed: XIcon,
  PasswordSet: KeyIcon,
  Created: KeyIcon,
  Rotated: KeyIcon,
  Revoked: SkipIcon,
  Opened: SignInIcon,
  Closed: SignOutIcon,
  Made: KeyIcon,
  Used: SignInIcon,
};

/** Only helps the eye to find its way: the words beside it say the same. */
export function EventIcon({ type }: { type: string }) {
  const Icon = ICONS[type] ?? GearIcon;
  return (
    <span className={classes.icon} aria-hidden>
      <Icon size={16} />
    </span>
  );
}
