// A part of the request that can be folded away.

import { Title } from "@mantine/core";
import { ChevronRightIcon } from "@primer/octicons-react";
import { useState, type ReactNode } from "react";

import classes from "./request.module.css";

interface Props {
  title: string;
  aside?: ReactNode;
  open?: boolean;
  children: ReactNode;
}

export function Fold({ title, aside, open: openFirst = false, children }: Props) {
  const [open, setOpen] = useState(openFirst);
  return (
    <details className={classes.fold} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className={classes.summary}>
        <ChevronRightIcon className={classes.chevron} />
        <Title order={2} className={classes.section}>
          {title}
        </Title>
        {aside}
      </summary>
      {/* Not made until it is looked at: some of it is long. */}
      {open && <div className={classes.folded}>{children}</div>}
    </details>
  );
}
