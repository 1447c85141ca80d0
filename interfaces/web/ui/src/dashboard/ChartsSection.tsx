import { Text, Title, UnstyledButton } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { ChevronDownIcon, ChevronRightIcon } from "@primer/octicons-react";
import { lazy, Suspense } from "react";

import { strings } from "../strings";
import classes from "./figures.module.css";
import type { Figures } from "./figures";

const Charts = lazy(() => import("./Charts"));

const CHARTS = 4;

/** On a phone the requests come first. */
function isWide(): boolean {
  return matchMedia("(min-width: 48em)").matches;
}

/** Whether one wants to see them is remembered; who does not want to does not load them either. */
export function ChartsSection({ figures }: { figures: Figures | undefined }) {
  const [open, setOpen] = useLocalStorage({
    key: "handraise.charts",
    defaultValue: isWide(),
    getInitialValueInEffect: false,
  });
  return (
    <section>
      <Title order={2} size="sm">
        <UnstyledButton
          className={classes.toggle}
          aria-expanded={open}
          aria-controls="charts"
          onClick={() => setOpen(!open)}
        >
          {open ? <ChevronDownIcon /> : <ChevronRightIcon />}
          <Text fw={600} size="sm" span>
            {strings.dashboard.charts}
          </Text>
        </UnstyledButton>
      </Title>
      <div id="charts">
        {open && (
          <Suspense fallback={<Room />}>{figures === undefined ? <Room /> : <Charts figures={figures} />}</Suspense>
        )}
      </div>
    </section>
  );
}

/** As much room as the charts will take: what stands below does not move when they come. */
function Room() {
  return (
    <div className={classes.charts} aria-hidden aria-busy>
      {Array.from({ length: CHARTS }, (_, index) => (
        <div key={index} className={classes.chart} />
      ))}
    </div>
  );
}
