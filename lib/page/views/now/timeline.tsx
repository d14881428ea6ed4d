import { useState } from "react";
import type { Forecast } from "../../../client/forecast.ts";
import type { Outage, SeriesStep } from "../../../client/stats.ts";
import { numberText } from "../../data/amounts.ts";
import { lookOf } from "../../data/outcomes.ts";
import { minuteText } from "../../data/time/zone.ts";
import { useNow } from "../../hooks/use-now.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { Panel } from "../../parts/panel.tsx";
import { MinuteLink } from "../../parts/time/minute-link.tsx";
import {
  awayText,
  type DrawnOutage,
  drawnOutages,
  OutageBands,
  OutagesNote,
  OutagesOfMinute,
} from "./timeline-outages.tsx";

const minuteMs = 60_000;
const minutesShown = 60;
const size = { width: 1_200, height: 150, floor: 128, top: 10 };
const slot = size.width / (2 * minutesShown);
/** A tick nearer to an end than this would be cut off on a phone. */
const edge = 72;

/** One kind of what a minute holds, from the bottom of its bar to the top. */
const kinds = [
  { kind: "succeeded", word: lookOf("ran").word },
  { kind: "retried", word: "retried" },
  // In their minute these jobs died; how many are dead now is another figure, which a retry lowers.
  { kind: "dead", word: "died" },
  { kind: "skipped", word: "skipped or missed" },
  { kind: "planned", word: lookOf("planned").word },
] as const;

type Kind = (typeof kinds)[number]["kind"];
type Minute = { at: number; counts: Readonly<Partial<Record<Kind, number>>> };

interface TimelineProps {
  past: readonly SeriesStep[] | undefined;
  coming: Forecast["minutes"] | undefined;
  outages: readonly Outage[] | undefined;
  /** When the outages were known: one that lasted then may be over. */
  seenAt: number;
}

/** The outcomes of the last hour with its outages, and the plan of the next one, minute by minute. */
export function Timeline({ past = [], coming = [], outages = [], seenAt }: TimelineProps) {
  const now = useNow();
  const zone = useZone();
  const [chosen, setChosen] = useState<number | null>(null);
  const begin = Math.floor(now / minuteMs) * minuteMs - minutesShown * minuteMs;
  const minutes = minutesOf(past, coming).filter(
    ({ at }) => at >= begin && at < begin + 2 * minutesShown * minuteMs,
  );
  const x = (at: number) => ((at - begin) / minuteMs) * slot;
  const ticks = Array.from(
    { length: 9 },
    (_, quarter) => Math.ceil(begin / quarterMs) * quarterMs + quarter * quarterMs,
  ).filter((at) => x(at) > edge && x(at) < size.width - edge);
  const shown = minutes.find(({ at }) => at === chosen) ?? null;
  const drawn = drawnOutages(outages, begin, Math.min(now, seenAt));
  const beside = shown === null ? [] : drawn.filter((outage) => isWithin(shown, outage));
  const place = ((shown?.at ?? now) - begin) / minuteMs;
  return (
    <Panel title="From an hour ago to an hour ahead" note={<Legend />}>
      <div className="timeline-frame">
        <OutageBands outages={drawn} share={(at) => x(at) / size.width} />
        <Bars minutes={minutes} shown={shown} x={x} now={now} onShow={setChosen} />
      </div>
      <ol className="timeline-ticks" aria-hidden="true">
        {ticks.map((at) => (
          <li key={at} style={{ left: `${(x(at) / size.width) * 100}%` }}>
            {minuteText(at, zone)}
          </li>
        ))}
      </ol>
      <input
        type="range"
        className="minute-slider"
        aria-label="A minute of the timeline"
        min={0}
        max={2 * minutesShown - 1}
        value={Math.floor(place)}
        aria-valuetext={shown === null ? "now" : minuteSentence(shown, beside, zone)}
        onChange={(event) => setChosen(begin + Number(event.target.value) * minuteMs)}
      />
      <p className="minute-note quiet">
        {shown === null ? (
          <>
            {totalsText(minutes)}
            <OutagesNote outages={drawn} />
          </>
        ) : (
          <>
            <MinuteLink at={new Date(shown.at).toISOString()} />: {countsText(shown.counts)}
            <OutagesOfMinute outages={beside} />
          </>
        )}
      </p>
    </Panel>
  );
}

interface BarsProps {
  minutes: readonly Minute[];
  shown: Minute | null;
  x(at: number): number;
  now: number;
  onShow(at: number): void;
}

function Bars({ minutes, shown, x, now, onShow }: BarsProps) {
  const most = Math.max(4, ...minutes.map(({ counts }) => total(counts)));
  return (
    <svg
      className="timeline"
      viewBox={`0 0 ${size.width} ${size.height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Runs of each minute; the most are ${numberText(most)}.`}
    >
      {minutes.map((minute) => (
        <Bar
          key={minute.at}
          minute={minute}
          x={x(minute.at)}
          most={most}
          isChosen={minute === shown}
          onShow={() => onShow(minute.at)}
        />
      ))}
      <line className="floor" x1={0} x2={size.width} y1={size.floor} y2={size.floor} />
      <line className="now" x1={x(now)} x2={x(now)} y1={size.top} y2={size.floor} />
    </svg>
  );
}

const quarterMs = 15 * minuteMs;

const isWithin = ({ at }: Minute, { from, to }: DrawnOutage) => from < at + minuteMs && to > at;

const total = (counts: Minute["counts"]) => Object.values(counts).reduce((sum, count) => sum + count, 0);

function minutesOf(past: readonly SeriesStep[], coming: Forecast["minutes"]): Minute[] {
  const ended = past.map(
    (step): Minute => ({
      at: Date.parse(step.at),
      counts: {
        succeeded: step.succeeded,
        retried: step.retried,
        dead: step.dead,
        skipped: step.skipped + step.missed,
      },
    }),
  );
  const last = ended.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  const planned = coming.map(({ at, fires }): Minute => ({ at: Date.parse(at), counts: { planned: fires } }));
  return [...ended, ...planned.filter(({ at }) => at > last)];
}

interface BarProps {
  minute: Minute;
  x: number;
  most: number;
  isChosen: boolean;
  onShow(): void;
}

function Bar({ minute, x, most, isChosen, onShow }: BarProps) {
  let y = size.floor;
  const scale = (size.floor - size.top) / most;
  return (
    <g className={isChosen ? "chosen" : undefined} onPointerEnter={onShow}>
      <rect className="reach" x={x} y={0} width={slot} height={size.floor} />
      {kinds.map(({ kind }) => {
        const height = (minute.counts[kind] ?? 0) * scale;
        y -= height;
        return height === 0 ? null : (
          <rect key={kind} className={`bar-${kind}`} x={x + 1} y={y} width={slot - 2} height={height} />
        );
      })}
    </g>
  );
}

/** It has the outage also where there is none: a line that comes later would move all beneath it. */
function Legend() {
  return (
    <span className="legend">
      {kinds.map(({ kind, word }) => (
        <span key={kind}>
          <i className={`mark-${kind}`} aria-hidden="true" />
          {word}
        </span>
      ))}
      <span>
        <i className="mark-outage" aria-hidden="true" />
        outage
      </span>
    </span>
  );
}

function minuteSentence({ at, counts }: Minute, beside: readonly DrawnOutage[], zone: string): string {
  const away = beside.length === 0 ? "" : `; ${awayText(beside)}`;
  return `${minuteText(at, zone)}: ${countsText(counts)}${away}`;
}

function countsText(counts: Minute["counts"]): string {
  const parts = kinds.flatMap(({ kind, word }) => {
    const count = counts[kind] ?? 0;
    return count === 0 ? [] : [`${numberText(count)} ${word}`];
  });
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

/** All minutes on the screen together: `In the last hour: 431 ran, 12 died. In the next one: 612 planned.` */
function totalsText(minutes: readonly Minute[]): string {
  const sums: Partial<Record<Kind, number>> = {};
  for (const { counts } of minutes)
    for (const { kind } of kinds) sums[kind] = (sums[kind] ?? 0) + (counts[kind] ?? 0);
  const { planned = 0, ...past } = sums;
  return `In the last hour: ${countsText(past)}. In the next one: ${numberText(planned)} planned.`;
}
