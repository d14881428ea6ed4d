import type { ReactNode } from "react";
import type { Occurrence } from "../../../client/time.ts";
import { relativeText } from "../../data/amounts.ts";
import type { RunChange } from "../../data/moved-runs.ts";
import { isWithinMinute, serverClockText, serverDayText } from "../../data/time/server-wall.ts";
import { clockText, dateText, isZone } from "../../data/time/zone.ts";
import { useNow } from "../../hooks/use-now.ts";
import { MovedRow } from "../../parts/time/moved-instants.tsx";
import "../../look/runs.css";

interface RunsProps {
  title: string;
  /** The zone of the listed times, which need not be the one that the reader chose for the page. */
  timezone: string;
  runs: readonly Occurrence[];
}

/** Coming runs, and how far away each of them is. */
export function Runs({ title, timezone, runs }: RunsProps) {
  const now = useNow();
  const hasSeconds = runs.some(({ wall }) => isWithinMinute(wall));
  return (
    <List title={title} timezone={timezone} isEmpty={runs.length === 0}>
      {runs.map((run) => (
        <li key={run.at}>
          <span className="times">
            <Time at={run.at}>
              {serverDayText(run.wall)} {serverClockText(run.wall, { hasSeconds })}
            </Time>
          </span>
          <span className="quiet">{relativeText(Date.parse(run.at), now)}</span>
          <Note of={run} />
        </li>
      ))}
    </List>
  );
}

/** The coming runs of one version, with the zone of their walls. */
export interface ComingRuns {
  timezone: string;
  details: readonly Occurrence[];
}

interface RunChangesProps {
  title: string;
  stored: ComingRuns;
  edited: ComingRuns;
  changes: readonly RunChange[];
}

/**
 * The runs of the stored version and of the edit in one list, in the order of time: a run that moves has both
 * times in its row. All are on the clocks of the edit's zone, since times of two zones cannot be compared.
 */
export function RunChanges({ title, stored, edited, changes }: RunChangesProps) {
  const { timezone } = edited;
  const before = new Map(stored.details.map((run) => [run.at, onClocksOf(timezone, run, stored.timezone)]));
  const after = new Map(edited.details.map((run) => [run.at, run]));
  const rows = changes.map((change) => ({
    old: before.get(change.before ?? ""),
    edited: after.get(change.after ?? ""),
  }));
  const hasSeconds = rows.some((row) => [row.old, row.edited].some((run) => run && isWithinMinute(run.wall)));
  return (
    <List title={title} timezone={timezone} isEmpty={rows.length === 0}>
      {rows.map((row) => (
        <Change key={row.old?.at ?? row.edited?.at} {...row} hasSeconds={hasSeconds} />
      ))}
    </List>
  );
}

/** A run, its wall on the clocks of the shown zone. One that the browser does not know leaves it as it is. */
function onClocksOf(shown: string, run: Occurrence, timezone: string): Occurrence {
  if (timezone === shown || !isZone(shown)) return run;
  const at = Date.parse(run.at);
  return { ...run, wall: `${dateText(at, shown)}T${clockText(at, shown)}` };
}

interface ChangeProps {
  /** Undefined for a run that is new. */
  old: Occurrence | undefined;
  /** Undefined for a run that goes. */
  edited: Occurrence | undefined;
  hasSeconds: boolean;
}

function Change({ old, edited, hasSeconds }: ChangeProps) {
  const first = old ?? edited;
  if (first === undefined) return null;
  const moved = edited === undefined || edited.at === first.at ? null : edited;
  const isSameDay = moved !== null && serverDayText(moved.wall) === serverDayText(first.wall);
  return (
    <MovedRow
      change={{ before: old?.at ?? null, after: edited?.at ?? null }}
      first={
        <Time at={first.at}>
          {serverDayText(first.wall)} {serverClockText(first.wall, { hasSeconds })}
        </Time>
      }
      moved={
        moved && (
          <Time at={moved.at}>
            {isSameDay ? "" : `${serverDayText(moved.wall)} `}
            {serverClockText(moved.wall, { hasSeconds })}
          </Time>
        )
      }
    >
      <Note of={edited ?? first} />
    </MovedRow>
  );
}

interface ListProps {
  title: string;
  timezone: string;
  isEmpty: boolean;
  children: ReactNode;
}

function List({ title, timezone, isEmpty, children }: ListProps) {
  return (
    <section className="run-list" aria-label={title}>
      <h3>
        {title}
        <span className="quiet"> · times in {timezone}</span>
      </h3>
      {isEmpty ? <p className="quiet">No run comes.</p> : <ol>{children}</ol>}
    </section>
  );
}

function Time({ at, children }: { at: string; children: ReactNode }) {
  const now = useNow();
  return (
    <time className="mono" dateTime={at} title={`${at}\n${relativeText(Date.parse(at), now)}`}>
      {children}
    </time>
  );
}

/** The effect of a clock change or a calendar on a run, and its due time where that is another one. */
function Note({ of: { due, note } }: { of: Occurrence }) {
  if (due === undefined && note === null) return null;
  return (
    <p className={note === null ? "quiet" : "note"}>
      {[note === null ? null : `△ ${note}`, due === undefined ? null : `due ${due}`]
        .filter((part) => part !== null)
        .join("; ")}
    </p>
  );
}
