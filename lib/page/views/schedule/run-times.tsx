import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";
import type { Strip } from "../../../client/agenda.ts";
import { fineSpanText, numberText } from "../../data/amounts.ts";
import { lookOf } from "../../data/outcomes.ts";
import { type Measure, type RunTime, runTimesOf, summaryOf } from "../../data/run-times.ts";
import { dayText, minuteText } from "../../data/time/zone.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { Pending } from "../../parts/answer-state.tsx";
import { OutcomeWord } from "../../parts/outcome-mark.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Instant } from "../../parts/time/instant.tsx";

const RunPlot = lazy(() =>
  import("./run-plot.tsx").then(({ RunPlot: component }) => ({ default: component })),
);

interface RunTimesProps {
  name: string;
  strip: Strip | undefined;
}

/** How late the runs of the last week began, and how long they took. */
export function RunTimes({ name, strip }: RunTimesProps) {
  const zone = useZone();
  const runs = useMemo(() => (strip === undefined ? undefined : runTimesOf(strip)), [strip]);
  return (
    <Panel title="Lateness and duration" note={`the last week, in ${zone}`}>
      {runs === undefined ? <Pending /> : null}
      {runs?.length === 0 ? (
        <p className="rows-none">No run in the last week. A chart is drawn here from the second run on.</p>
      ) : null}
      {runs?.length === 1 && runs[0] !== undefined ? (
        <p className="rows-none">
          One run in the last week: <RunText name={name} run={runs[0]} />
        </p>
      ) : null}
      {runs === undefined || runs.length < 2 ? null : (
        <Suspense fallback={<Pending />}>
          <Chart name={name} runs={runs} zone={zone} />
        </Suspense>
      )}
    </Panel>
  );
}

function Chart({ name, runs, zone }: { name: string; runs: readonly RunTime[]; zone: string }) {
  const navigate = useNavigate({ from: "/schedules/$key" });
  const [place, setPlace] = useState<number | null>(null);
  const chosen = place === null ? undefined : runs[place];
  const open = (at: number | null) => {
    const run = at === null ? undefined : runs[at];
    if (run !== undefined) void navigate({ search: (before) => ({ ...before, why: run.occurrence }) });
  };
  return (
    <div className="run-times">
      <RunPlot
        runs={runs}
        zone={zone}
        label={textOf(runs, zone)}
        place={place}
        onPlace={setPlace}
        onOpen={open}
      />
      <input
        type="range"
        className="minute-slider"
        aria-label="A run of the chart; Enter explains it"
        min={0}
        max={runs.length - 1}
        value={place ?? runs.length - 1}
        aria-valuetext={chosen === undefined ? "no run is chosen" : runText(chosen, zone)}
        onChange={(event) => setPlace(Number(event.target.value))}
        onKeyDown={({ key }) => {
          if (key === "Enter") open(place);
        }}
      />
      <p className="minute-note quiet">
        {chosen === undefined ? textOf(runs, zone) : <RunText name={name} run={chosen} />}
      </p>
      <p className="legend run-legend">
        <span>
          <i className="line" aria-hidden="true" />
          began late by
        </span>
        <span>
          <i className="line dashed" aria-hidden="true" />
          took
        </span>
        {runs.some(isDead) ? <OutcomeWord outcome="dead" /> : null}
      </p>
    </div>
  );
}

const isDead = ({ outcome }: RunTime) => outcome === "dead";

function RunText({ name, run }: { name: string; run: RunTime }) {
  return (
    <>
      <Instant at={run.occurrence} of={name} />: {partsText(run)}
    </>
  );
}

const runText = (run: RunTime, zone: string) =>
  `${dayText(run.at, zone)} ${minuteText(run.at, zone)}: ${partsText(run)}`;

function partsText({ outcome, latenessMs, durationMs }: RunTime): string {
  const late = latenessMs === null ? [] : [`${fineSpanText(latenessMs)} late`];
  const took = durationMs === null ? [] : [`took ${fineSpanText(durationMs)}`];
  return [lookOf(outcome).word, ...late, ...took].join(", ");
}

/** `60 runs, 2 dead. Late by: median 80 ms, worst 12 min on Sun, 29 Mar at 03:15. …` */
function textOf(runs: readonly RunTime[], zone: string): string {
  const dead = runs.filter(isDead).length;
  const measured = (words: string, measure: Measure) => {
    const summary = summaryOf(runs, measure);
    if (summary === null) return "";
    const { medianMs, worstMs, worstAt } = summary;
    return ` ${words}: median ${fineSpanText(medianMs)}, worst ${fineSpanText(worstMs)} on ${dayText(worstAt, zone)} at ${minuteText(worstAt, zone)}.`;
  };
  const count = `${numberText(runs.length)} runs${dead === 0 ? "" : `, ${numberText(dead)} dead`}.`;
  return `${count}${measured("Late by", "latenessMs")}${measured("Took", "durationMs")}`;
}
