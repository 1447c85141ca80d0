import { Text, Title, UnstyledButton } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { ChevronDownIcon, ChevronRightIcon } from "@primer/octicons-react";
import { lazy, Suspense } from "react";

import { Loading } from "../lib/State";
import { strings } from "../strings";
import classes from "./figures.module.css";
import type { Figures } from "./figures";

const Charts = lazy(() => import("./Charts"));

/** Whether one wants to see them is remembered; who does not want to does not load them either. */
export function ChartsSection({ figures }: { figures: Figures | undefined }) {
  const [open, setOpen] = useLocalStorage({
    key: "handraise.charts",
    defaultValue: true,
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
        {open && figures !== undefined && (
          <Suspense fallback={<Loading />}>
            <Charts figures={figures} />
          </Suspense>
        )}
      </div>
    </section>
  );
}
