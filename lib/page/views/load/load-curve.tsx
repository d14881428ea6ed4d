import { useState } from "react";
import type { Forecast } from "../../../client/forecast.ts";
import { numberText, shortNumberText } from "../../data/amounts.ts";
import { countTicks, timeTicks } from "../../data/load/curve-scale.ts";
import { midnightIn } from "../../data/load/midnight.ts";
import { estimateText, plannedText, runsText } from "../../data/load/planned-text.ts";
import { minuteText } from "../../data/time/zone.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { Panel } from "../../parts/panel.tsx";
import { Curve } from "./curve.tsx";
import { PlannedMinute } from "./planned-minute.tsx";

/** Up to this part of the width the words beside a mark have room on its right, on a phone too. */
const roomTo = 0.65;

/** A scale needs some height, even where a minute has one run. */
const leastPeak = 4;

/** The two curves, where a spread gives a second one. */
function SpreadLegend() {
  return (
    <span className="legend">
      <span>
        <i className="mark-bars" aria-hidden="true" />
        as planned
      </span>
      <span>
        <i className="mark-line" aria-hidden="true" />
        with the spread
      </span>
    </span>
  );
}

interface LoadCurveProps {
  forecast: Forecast;
  /** The schedules that are looked at. */
  prefix: string | undefined;
}

/** Runs of each minute ahead; with a spread, its curve as a line over it; and what the workers can do. */
export function LoadCurve({ forecast, prefix }: LoadCurveProps) {
  const zone = useZone();
  const [chosen, setChosen] = useState<string>();
  const { minutes, spread, capacity, heaviest } = forecast;
  const counts = [...minutes, ...(spread?.minutes ?? [])].map(({ fires }) => fires);
  const peak = counts.reduce((most, fires) => Math.max(most, fires), leastPeak);
  const share = (place: number) => `${((place + 0.5) / minutes.length) * 100}%`;
  const most = minutes.findIndex(({ at }) => at === heaviest[0]?.at);
  const kept = minutes.findIndex(({ at }) => at === chosen);
  const place = [kept, midnightIn(minutes, zone), most].find((each) => each >= 0) ?? 0;
  const shown = minutes[place];
  return (
    <Panel
      title="Planned runs of each minute"
      note={
        <>
          {capacity === null
            ? null
            : `the most that the workers settled in one minute of the last day: ${numberText(capacity.perMinute)}`}
          {spread === null ? null : <SpreadLegend />}
        </>
      }
    >
      <div className="curve-box">
        <p className="curve-most" aria-hidden="true">
          {heaviest[0] === undefined || most === -1 ? null : (
            <span style={{ left: share(most) }} className={most < minutes.length * roomTo ? "begin" : "end"}>
              <i>▼</i>
              <span>
                <b>
                  {estimateText(forecast.exact)}
                  {numberText(heaviest[0].fires)}
                </b>{" "}
                at {minuteText(Date.parse(heaviest[0].at), zone)}
              </span>
            </span>
          )}
        </p>
        <ol className="curve-counts" aria-hidden="true">
          {countTicks(peak).map((count) => (
            <li key={count} style={{ bottom: `${(count / peak) * 100}%` }}>
              {shortNumberText(count)}
            </li>
          ))}
        </ol>
        <Curve
          forecast={forecast}
          peak={peak}
          place={place}
          onPoint={(pointed) => setChosen(minutes[pointed]?.at)}
        />
        <ol className="curve-times" aria-hidden="true">
          {timeTicks(minutes, zone).map(({ text, place }) => (
            <li key={place} style={{ left: share(place) }}>
              {text}
            </li>
          ))}
        </ol>
      </div>
      <input
        type="range"
        className="minute-slider"
        aria-label="A minute of the curve"
        min={0}
        max={Math.max(0, minutes.length - 1)}
        value={place}
        aria-valuetext={
          shown === undefined
            ? undefined
            : `${minuteText(Date.parse(shown.at), zone)}: ${runsText(shown.fires, forecast.exact)}`
        }
        onChange={(event) => setChosen(minutes[Number(event.target.value)]?.at)}
      />
      {shown === undefined ? null : (
        <p className="minute-note quiet">
          <PlannedMinute at={shown.at} prefix={prefix} />:{" "}
          {plannedText(shown.fires, { isExact: forecast.exact })}
          {spread === null
            ? ""
            : `, with the spread ${estimateText(forecast.exact)}${numberText(spread.minutes[place]?.fires ?? 0)}`}
        </p>
      )}
    </Panel>
  );
}
