// The charts, in a part of their own: they are by far the heaviest of the page. Each says the same as a table.

import "@mantine/charts/styles.css";

import { BarChart } from "@mantine/charts";
import { Text, VisuallyHidden } from "@mantine/core";
import type { ReactNode } from "react";

import { useNames } from "../api/names";
import { duration } from "../lib/time";
import { strings } from "../strings";
import classes from "./figures.module.css";
import type { Figures } from "./figures";

const COLOUR = "var(--chart-bar)";
const MOST_BARS = 6;
const BAR_HEIGHT = 26;
const DAYS = 30;
const DAY = 86_400_000;
const STILL = { isAnimationActive: false, maxBarSize: 18, radius: 3 };

interface Bar {
  name: string;
  value: number;
}

export default function Charts({ figures }: { figures: Figures }) {
  const names = useNames();
  const words = strings.dashboard;
  const { p50, p90, of_latest } = figures.time_to_answer_seconds;
  const speed = [p50, p90].map((seconds, index) => ({ name: words.fastest[index] ?? "", value: seconds ?? 0 }));
  return (
    <div className={classes.charts}>
      <Chart title={words.openByType}>
        <Bars
          title={words.openByType}
          bars={open(figures.by_type, names.type)}
          label={words.open}
          nothing={words.nothingOpen}
        />
      </Chart>
      <Chart title={words.openByPerson}>
        <Bars
          title={words.openByPerson}
          bars={open(figures.by_person, (id) => (id === "nobody" ? words.nobody : names.person(id)))}
          label={words.open}
          nothing={words.nothingOpen}
        />
      </Chart>
      <Chart title={words.answeredPerDay} note={words.utcDays}>
        <Days counted={figures.answered_per_day} />
      </Chart>
      <Chart title={words.timeToAnswer} note={of_latest === 0 ? undefined : words.ofLatest(of_latest)}>
        <Bars
          title={words.timeToAnswer}
          bars={of_latest === 0 ? [] : speed}
          label={words.time}
          nothing={words.notYet}
          write={(seconds) => (seconds < 1 ? words.underASecond : duration(seconds))}
        />
      </Chart>
    </div>
  );
}

function Chart({ title, note, children }: { title: string; note?: string | undefined; children: ReactNode }) {
  return (
    <figure className={classes.chart}>
      <figcaption>
        <Text size="sm" fw={600}>
          {title}
        </Text>
        {note !== undefined && (
          <Text size="xs" c="dimmed">
            {note}
          </Text>
        )}
      </figcaption>
      {children}
    </figure>
  );
}

/** The longest bars; what is left is one bar. */
function open(counts: Record<string, Record<string, number>>, name: (id: string) => string): Bar[] {
  const bars = Object.entries(counts)
    .map(([id, byStatus]) => ({ name: name(id), value: byStatus.Requested ?? 0 }))
    .filter(({ value }) => value > 0)
    .sort((one, other) => other.value - one.value || one.name.localeCompare(other.name));
  if (bars.length <= MOST_BARS) return bars;
  const rest = bars.slice(MOST_BARS - 1);
  const value = rest.reduce((sum, bar) => sum + bar.value, 0);
  return [...bars.slice(0, MOST_BARS - 1), { name: strings.dashboard.others(rest.length), value }];
}

interface BarsProps {
  title: string;
  bars: Bar[];
  label: string;
  nothing: string;
  write?: (value: number) => string;
}

function Bars({ title, bars, label, nothing, write = (value) => value.toLocaleString() }: BarsProps) {
  if (bars.length === 0) return <Nothing>{nothing}</Nothing>;
  return (
    <>
      <div aria-hidden>
        <BarChart
          h={bars.length * BAR_HEIGHT + 8}
          data={bars.map((bar) => ({ ...bar, name: shortened(bar.name) }))}
          dataKey="name"
          orientation="vertical"
          series={[{ name: "value", label, color: COLOUR }]}
          gridAxis="none"
          tickLine="none"
          withXAxis={false}
          yAxisProps={{ width: 130, interval: 0 }}
          withBarValueLabel
          valueLabelProps={{ position: "right" }}
          valueFormatter={write}
          cursorFill="transparent"
          barProps={STILL}
          barChartProps={{ accessibilityLayer: false, margin: { right: 80, left: 0 } }}
        />
      </div>
      <AsTable
        title={title}
        head={[strings.dashboard.name, label]}
        rows={bars.map((bar) => [bar.name, write(bar.value)])}
      />
    </>
  );
}

function Days({ counted }: { counted: Figures["answered_per_day"] }) {
  const words = strings.dashboard;
  const counts = new Map(counted.map(({ from, count }) => [from.slice(0, 10), count]));
  const days = Array.from({ length: DAYS }, (_, index) => {
    const day = new Date(Date.now() - (DAYS - 1 - index) * DAY).toISOString().slice(0, 10);
    return { name: dayInWords(day), value: counts.get(day) ?? 0 };
  });
  if (days.every(({ value }) => value === 0)) return <Nothing>{words.nothingAnswered}</Nothing>;
  return (
    <>
      <div aria-hidden>
        <BarChart
          h={140}
          data={days}
          dataKey="name"
          series={[{ name: "value", label: words.answered, color: COLOUR }]}
          gridAxis="x"
          tickLine="none"
          yAxisProps={{ width: 36, allowDecimals: false }}
          xAxisProps={{ interval: "preserveStartEnd", minTickGap: 24 }}
          cursorFill="transparent"
          barProps={STILL}
          barChartProps={{ accessibilityLayer: false, margin: { left: 0, right: 8 } }}
        />
      </div>
      <AsTable
        title={words.answeredPerDay}
        head={[words.day, words.answered]}
        rows={days.map(({ name, value }) => [name, String(value)])}
      />
    </>
  );
}

const UTC_DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });

function dayInWords(day: string): string {
  return UTC_DAY.format(new Date(`${day}T00:00:00Z`));
}

function shortened(name: string): string {
  const letters = [...name];
  return letters.length <= 18 ? name : `${letters.slice(0, 17).join("")}…`;
}

function Nothing({ children }: { children: ReactNode }) {
  return (
    <Text size="sm" c="dimmed" py="md">
      {children}
    </Text>
  );
}

function AsTable({ title, head, rows }: { title: string; head: [string, string]; rows: [string, string][] }) {
  return (
    <VisuallyHidden>
      <table>
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">{head[0]}</th>
            <th scope="col">{head[1]}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, value], index) => (
            <tr key={index}>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </VisuallyHidden>
  );
}
