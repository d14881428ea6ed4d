import type { SoakFigures } from "./soak.ts";
import type { Measure } from "./soak-measures.ts";
import { type Panel, timeSeries } from "./svg/time-series.ts";

/** All measures over the same minutes, grouped in panels. */
export function soakPicture({
  asked,
  measures,
  judged,
}: Pick<SoakFigures, "asked" | "measures" | "judged">): string {
  const names = [...new Set(measures.map(({ panel }) => panel))];
  const risen = judged.filter(({ flat }) => !flat).map(({ panel, label }) => `${panel} ${label}`.trim());
  return timeSeries({
    title: `${asked.minutes} minutes of creates, edits, deletes, fires, drains and reads together`,
    desc: `${names.join(", ")}, over ${asked.minutes} minutes at ${asked.rate} jobs a second. ${risen.length === 0 ? "All judged measures are flat." : `Not flat: ${risen.join(", ")}.`}`,
    xLabel: "minutes",
    panels: names.map((name) => panelOf(measures.filter(({ panel }) => panel === name))),
  });
}

const linesMax = 6;

/** Only the largest tables are shown: the lines of the others overlap. */
function panelOf(own: readonly Measure[]): Panel {
  const [first] = own;
  if (first === undefined) throw new Error("A panel has no measure.");
  const greatest = (measure: Measure) => Math.max(0, ...measure.points.flatMap(({ y }) => y ?? []));
  const lines =
    own.length <= linesMax ? own : own.toSorted((a, b) => greatest(b) - greatest(a)).slice(0, linesMax);
  const banded = lines.length === 2 && lines[0]?.label === "p50" && lines[1]?.label === "p99";
  return {
    label: first.panel,
    unit: first.unit,
    lines: lines.map(({ label, points }) => ({ label, points })),
    ...(banded ? { band: { low: 0, high: 1 } } : {}),
  };
}
