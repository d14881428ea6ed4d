import type { LastRun } from "../../../client/agenda.ts";
import type { ScheduleSummary } from "../../../client/schedule.ts";
import type { More } from "../../data/more.ts";
import { stripLength } from "../../data/schedule-queries.ts";
import { Actor } from "../../parts/actor.tsx";
import { FirstSchedule } from "../../parts/first-schedule.tsx";
import { RunsStrip } from "../../parts/strip.tsx";
import { type Column, VirtualTable } from "../../parts/virtual-table.tsx";
import {
  keyColumn,
  latenessColumn,
  nextColumn,
  whenBesideZoneColumn,
  zoneColumn,
} from "./schedule-columns.tsx";
import type { KeySelection } from "./selection.ts";

interface ScheduleTableProps extends More {
  schedules: readonly ScheduleSummary[];
  strips: ReadonlyMap<string, readonly LastRun[]>;
  /** Null where the token may change nothing. */
  selection: KeySelection | null;
  isFiltered: boolean;
}

export function ScheduleTable({
  schedules,
  strips,
  selection,
  isFiltered,
  hasMore,
  onEnd,
}: ScheduleTableProps) {
  return (
    <VirtualTable
      label="Schedules"
      className={selection === null ? "schedules" : "schedules selectable"}
      columns={selection === null ? columnsWith(strips) : [choiceColumn(selection), ...columnsWith(strips)]}
      rows={schedules}
      keyOf={({ id }) => id}
      hasMore={hasMore}
      onEnd={onEnd}
      empty={isFiltered ? "No schedule matches." : <FirstSchedule />}
    />
  );
}

const choiceColumn = ({ keys, toggle }: KeySelection): Column<ScheduleSummary> => ({
  name: "Select",
  className: "choice",
  cell: ({ key }) => (
    <input
      type="checkbox"
      aria-label={`Select ${key}`}
      checked={keys.has(key)}
      onClick={(event) => toggle(key, event.shiftKey)}
      // The click says whether Shift was held.
      onChange={() => undefined}
    />
  ),
});

const columnsWith = (strips: ScheduleTableProps["strips"]): Column<ScheduleSummary>[] => [
  keyColumn,
  whenBesideZoneColumn,
  zoneColumn,
  nextColumn,
  {
    name: "Last runs",
    className: "runs",
    cell: ({ key }) => {
      const runs = strips.get(key);
      return runs === undefined || runs.length === 0 ? null : <RunsStrip runs={runs} room={stripLength} />;
    },
  },
  latenessColumn(strips),
  { name: "State", className: "state", cell: (schedule) => <StateCell {...schedule} /> },
];

function StateCell({ state, holds }: ScheduleSummary) {
  const [hold] = holds;
  if (hold === undefined) return state;
  const all = holds.map(({ owner, reason }) => (reason === null ? owner : `${owner}: ${reason}`)).join("\n");
  return (
    <span title={all}>
      ‖ held by <Actor name={hold.owner} />
    </span>
  );
}
