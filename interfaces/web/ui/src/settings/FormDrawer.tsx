// A drawer with a form in it. It does not close over something unsaved without asking.

import { Drawer } from "@mantine/core";
import { useCallback, useRef, useState, type ReactNode } from "react";

import { strings } from "../strings";
import classes from "./Settings.module.css";

export interface Inside {
  asksToDiscard: boolean;
  onDirty: (dirty: boolean) => void;
  onKeep: () => void;
  onLeave: () => void;
}

interface Props {
  opened: boolean;
  title: string;
  onClose: () => void;
  onClosed?: () => void;
  children: (inside: Inside) => ReactNode;
}

export function FormDrawer({ opened, title, onClose, onClosed, children }: Props) {
  const dirty = useRef(false);
  const [asks, setAsks] = useState(false);
  const onDirty = useCallback((now: boolean) => void (dirty.current = now), []);
  const leave = () => {
    dirty.current = false;
    setAsks(false);
    onClose();
  };
  const close = () => (dirty.current ? setAsks(!asks) : leave());
  return (
    <Drawer
      opened={opened}
      onClose={close}
      position="right"
      size="min(100%, 560px)"
      title={title}
      closeButtonProps={{ "aria-label": strings.settings.close, className: classes.touch }}
      onExitTransitionEnd={onClosed}
      transitionProps={{ duration: 120 }}
    >
      {children({ asksToDiscard: asks, onDirty, onKeep: () => setAsks(false), onLeave: leave })}
    </Drawer>
  );
}
