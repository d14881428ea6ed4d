import type { LastRun } from "../../client/agenda.ts";
import { lookOf } from "../data/outcomes.ts";
import { clockText, dateText } from "../data/time/zone.ts";
import { useZone } from "../hooks/use-zone.ts";
import { OutcomeShape } from "./outcome-mark.tsx";

const pitch = 10.5;

/** The last runs of a schedule as marks, the newest at the right. */
export function RunsStrip({ runs, room }: { runs: readonly LastRun[]; room: number }) {
  const zone = useZone();
  const begin = (room - runs.length) * pitch;
  return (
    <svg className="strip" width={room * pitch} height={22} role="img" aria-label={stripText(runs)}>
      {runs.map((run, place) => (
        <g key={run.occurrence}>
          <title>{`${dateText(Date.parse(run.occurrence), zone)} ${clockText(Date.parse(run.occurrence), zone)} ${lookOf(run.outcome).word}`}</title>
          <OutcomeShape outcome={run.outcome} x={begin + place * pitch} />
        </g>
      ))}
    </svg>
  );
}

function stripText(runs: readonly LastRun[]): string {
  if (runs.length === 0) return "No runs yet";
  const counts = Map.groupBy(runs, ({ outcome }) => lookOf(outcome).word);
  const words = [...counts].map(([word, same]) => `${same.length} ${word}`).join(", ");
  const last = runs.at(-1);
  return `Last ${runs.length} runs: ${words}; the newest ${last === undefined ? "" : lookOf(last.outcome).word}`;
}
