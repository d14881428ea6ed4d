import type { Forecast } from "../../../client/forecast.ts";
import { numberText } from "../../data/amounts.ts";
import { minuteText } from "../../data/zone.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { Panel } from "../../parts/panel.tsx";

const size = { width: 1_200, height: 200, top: 12 };
const ticksShown = 8;

/** Runs of each minute ahead; with a spread, its curve as a line over it; and what the workers can do. */
export function LoadCurve({ forecast }: { forecast: Forecast }) {
  const zone = useZone();
  const { minutes, spread, capacity } = forecast;
  const peak = Math.max(
    4,
    ...minutes.map(({ fires }) => fires),
    ...(spread?.minutes.map(({ fires }) => fires) ?? []),
  );
  const slot = size.width / Math.max(1, minutes.length);
  const y = (fires: number) => size.height - (fires / peak) * (size.height - size.top);
  const line = spread?.minutes
    .map(({ fires }, place) => `${place === 0 ? "M" : "L"}${(place + 0.5) * slot} ${y(fires)}`)
    .join("");
  const every = Math.max(1, Math.floor(minutes.length / ticksShown));
  return (
    <Panel
      title="Planned runs of each minute"
      note={`at most ${numberText(peak)} a minute${capacity === null ? "" : `; the workers have settled ${numberText(capacity.perMinute)} in a minute of the last day`}`}
    >
      <svg
        className="curve"
        viewBox={`0 0 ${size.width} ${size.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Planned runs of ${minutes.length} minutes, at most ${numberText(peak)}.`}
      >
        {minutes.map(({ at, fires, beyond }, place) => (
          <rect
            key={at}
            className={beyond ? "beyond" : "within"}
            x={place * slot}
            width={Math.max(0.5, slot - (slot > 4 ? 1 : 0))}
            y={y(fires)}
            height={size.height - y(fires)}
          >
            <title>{`${minuteText(Date.parse(at), zone)}: ${numberText(fires)}`}</title>
          </rect>
        ))}
        {capacity === null || capacity.perMinute > peak ? null : (
          <line
            className="capacity"
            x1={0}
            x2={size.width}
            y1={y(capacity.perMinute)}
            y2={y(capacity.perMinute)}
          />
        )}
        {line === undefined ? null : <path className="spread" d={line} />}
      </svg>
      <ol className="timeline-ticks" aria-hidden="true">
        {minutes.flatMap(({ at }, place) =>
          place % every === 0 && place > 0
            ? [
                <li key={at} style={{ left: `${(place / minutes.length) * 100}%` }}>
                  {minuteText(Date.parse(at), zone)}
                </li>,
              ]
            : [],
        )}
      </ol>
    </Panel>
  );
}
