import { useEffect, useEffectEvent, useRef } from "react";
import uPlot from "uplot";
import { fineSpanText } from "../../data/amounts.ts";
import type { RunTime } from "../../data/run-times.ts";
import { clockText, dateText, dayText, minuteText } from "../../data/time/zone.ts";
import { useLook } from "../../hooks/use-look.ts";
import "uplot/dist/uPlot.min.css";

interface RunPlotProps {
  runs: readonly RunTime[];
  zone: string;
  /** Says in words what the chart shows. */
  label: string;
  /** The run that is pointed at. */
  place: number | null;
  onPlace(place: number | null): void;
  onOpen(place: number | null): void;
}

/** Two lines on the time axis of a zone, and a bar at the foot for each dead run. */
export function RunPlot({ runs, zone, label, place, onPlace, onOpen }: RunPlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const made = useRef<uPlot>(null);
  const look = useLook();
  const choose = useEffectEvent(onPlace);
  const open = useEffectEvent(onOpen);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a canvas keeps the colours of its theme.
  useEffect(() => {
    const box = host.current;
    if (box === null) return;
    const plot = new uPlot(optionsOf({ box, runs, zone, onPlace: choose }), dataOf(runs), box);
    made.current = plot;
    // A tap comes before the frame in which the cursor moves there.
    plot.over.addEventListener("click", ({ offsetX }) => open(plot.posToIdx(offsetX)));
    const watch = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height }));
    watch.observe(box);
    return () => {
      watch.disconnect();
      plot.destroy();
      made.current = null;
    };
  }, [runs, zone, look]);
  useEffect(() => {
    const plot = made.current;
    const run = place === null ? undefined : runs[place];
    if (plot === null || run === undefined || plot.cursor.idx === place) return;
    plot.setCursor({ left: plot.valToPos(run.at / 1_000, "x"), top: 1 });
  }, [place, runs]);
  return <div ref={host} className="run-plot" role="img" aria-label={label} />;
}

const height = 220;
/** In pixels: a time with seconds and a gap. */
const timeSpace = 80;
const least = 1;

/** A logarithmic axis has no zero: less than a millisecond is drawn as one. */
function dataOf(runs: readonly RunTime[]): uPlot.AlignedData {
  const values = (measure: "latenessMs" | "durationMs") =>
    runs.map(({ [measure]: ms }) => (ms === null ? null : Math.max(least, ms)));
  return [runs.map(({ at }) => at / 1_000), values("latenessMs"), values("durationMs")];
}

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;
/** The numbers of the axis. */
const marks = [
  ...[1, 10, 100, 1_000, 10_000],
  ...[minuteMs, 10 * minuteMs, hourMs, 6 * hourMs, dayMs, 7 * dayMs, 70 * dayMs],
];

function rangeOf(min: number, max: number): [number, number] {
  const low = marks.findLast((mark) => mark <= min) ?? least;
  const high = marks.find((mark) => mark >= max && mark > low) ?? max;
  return [low, high];
}

interface PlotGiven {
  box: HTMLElement;
  runs: readonly RunTime[];
  zone: string;
  onPlace(place: number | null): void;
}

const colourNames = ["--accent", "--ink-2", "--bad", "--line"] as const;

/** The colours as the theme gives them: a canvas does not read custom properties. */
function coloursOf(box: HTMLElement): string[] {
  const colours = colourNames.map((name) => {
    box.style.color = `var(${name})`;
    return getComputedStyle(box).color;
  });
  box.style.color = "";
  return colours;
}

function optionsOf({ box, runs, zone, onPlace }: PlotGiven): uPlot.Options {
  const [accent = "", ink = "", bad = "", line = ""] = coloursOf(box);
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const font = `12px ${getComputedStyle(box).fontFamily}`;
  return {
    width: box.clientWidth,
    height,
    legend: { show: false },
    // The last time stands under the end of the lines, and half of it is beyond them.
    padding: [null, timeSpace / 2, null, null],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), zone),
    // A click whose cursor has moved to a run meanwhile is not the end of a selection.
    cursor: { y: false, drag: { x: false, y: false, click: () => undefined } },
    scales: { y: { distr: 3, range: (_plot, min, max) => rangeOf(min, max) } },
    axes: [
      {
        ...axis,
        font,
        space: timeSpace,
        values: (_plot, at, _axis, _space, step) => timesText(at, step, zone),
      },
      {
        ...axis,
        font,
        size: 64,
        splits: (_plot, _axis, min, max) => marks.filter((mark) => mark >= min && mark <= max),
        filter: (_plot, splits) => splits,
        values: (_plot, splits) => splits.map(fineSpanText),
      },
    ],
    series: [
      {},
      { stroke: accent, width: 2, spanGaps: true, points: { show: true, size: 5, fill: accent } },
      { stroke: ink, width: 1.5, dash: [6, 4], spanGaps: true, points: { show: true, size: 4 } },
    ],
    hooks: {
      setCursor: [(plot) => onPlace(plot.cursor.idx ?? null)],
      draw: [(plot) => drawDead(plot, runs, bad)],
    },
  };
}

/** Times of the axis, with the day where it is another one. */
function timesText(seconds: readonly number[], step: number, zone: string): string[] {
  let day = "";
  return seconds.map((each) => {
    const at = each * 1_000;
    if (step * 1_000 >= dayMs) return dayText(at, zone);
    const time = step < 60 ? clockText(at, zone) : minuteText(at, zone);
    const isSame = dateText(at, zone) === day;
    day = dateText(at, zone);
    return isSame ? time : `${time}\n${dayText(at, zone)}`;
  });
}

const bar = { width: 5, height: 16 };

/** The tall bar that means a dead run everywhere on the page. */
function drawDead(plot: uPlot, runs: readonly RunTime[], colour: string): void {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.fillStyle = colour;
  for (const { at, outcome } of runs) {
    if (outcome !== "dead") continue;
    const x = plot.valToPos(at / 1_000, "x", true);
    const [wide, tall] = [bar.width * scale, bar.height * scale];
    ctx.fillRect(x - wide / 2, bbox.top + bbox.height - tall, wide, tall);
  }
  ctx.restore();
}
