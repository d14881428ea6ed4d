import type { Tx } from "../db/connect.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { dueAt, firstDueAfter, occurrenceDueBy } from "../schedule/stored/timetable.ts";
import { type PassedRow, setPassedAside } from "./aside.ts";
import { rowMax } from "./backlog.ts";
import { type Unfolded, unfold } from "./instants.ts";
import { noteRanges, type noteSkipped, rangesOf } from "./note-passed.ts";
import { writePassedEvents } from "./passed-events.ts";
import { type firePlanned, insertPlanRow, type Planned, planFrom } from "./plan-schedule.ts";
import {
  type fireRelease,
  firstUnderHold,
  type planBeyondHold,
  planBeyondHolds,
  releaseOf,
} from "./release.ts";
import { plannedUpTo, type ShardState } from "./shard.ts";

/**
 * For a schedule whose jobs cannot be written. The edit applies the rules of the version that ends
 * to choose the jobs due by its cut, and puts them into the backlog, where their row waits in
 * quarantine until it can be written. Occurrences of the new version before the next tick are set
 * aside in quarantine: in the backlog the next edit would not withdraw them. Later ones are planned
 * as usual.
 */
export function makeLater(error: unknown): Maker {
  const setAside = (tx: Tx, rows: PassedRow[]) =>
    setPassedAside(
      tx,
      rows.map((row) => ({ row, error })),
    );
  return {
    firePlanned: async (tx, state, planned, first, moment) => {
      const unfolded = unfold(planned.timetable, first, moment);
      return { jobs: await owe(tx, state, planned, unfolded, state.now), parcels: [] };
    },
    fireRelease: async (tx, state, schedule, version) => {
      const { until, unfolded } = releaseOf(schedule, version);
      // Occurrences that were passed over are noted when the ended hold is cleared.
      const chosen = unfolded === null ? null : { ...unfolded, passed: [], ranges: [] };
      const planned = { id: schedule.id, version };
      return { made: chosen === null ? 0 : await owe(tx, state, planned, chosen, until), parcels: [] };
    },
    planFrom: async (tx, state, planned, first, owed) => {
      if (planned.pulse) return planFrom(tx, state, planned, first, owed);
      const { timetable, id, version } = planned;
      if (first === null || timetable.firesLeft === 0) return [];
      const upTo = occurrenceDueBy(timetable, state.now.getTime());
      const unfolded = unfold(timetable, first, { missedUpTo: Number.NEGATIVE_INFINITY, ...owed, upTo });
      await owe(tx, state, planned, unfolded, state.now);
      const { next } = unfolded;
      if (next === null) return [];
      if (next.due > plannedUpTo(state, id).getTime())
        await insertPlanRow(tx, state, planned, { occurrence: next.at, due: next.due });
      else await setAside(tx, [rowOf({ id, version }, next)]);
      return [];
    },
    planBeyondHold: async (tx, state, _schedule, planned, held) => {
      const { timetable, id, version } = planned;
      const until = held.until.getTime();
      if (planned.pulse || held.until > plannedUpTo(state, id))
        return planBeyondHolds(tx, [{ state, planned, held }]);
      const [under, after] = [firstUnderHold(timetable, held), firstDueAfter(timetable, until)];
      await setAside(tx, [
        ...(under === null
          ? []
          : [{ ...rowOf({ id, version }, { at: under, due: until }), heldSince: held.since }]),
        ...(after === null ? [] : [rowOf({ id, version }, { at: after, due: dueAt(timetable, after) })]),
      ]);
      return [];
    },
    noteSkipped: async (tx, _state, each) =>
      noteRanges(
        tx,
        each.map(({ passed, ...noted }) => ({ ...noted, ranges: rangesOf(passed) })),
      ),
    together: null,
  };
}

function rowOf(
  { id, version }: Pick<Planned, "id" | "version">,
  { at, due }: { at: number; due: number },
): PassedRow {
  return { scheduleId: id, version, occurrence: new Date(at), dueAt: new Date(due), heldSince: null };
}

/** Returns the number of jobs put into the backlog. */
async function owe(
  tx: Tx,
  state: ShardState,
  { id, version }: Pick<Planned, "id" | "version">,
  { runs, backlog, passed, ranges }: Unfolded,
  turnAt: Date,
): Promise<number> {
  const owed = [...runs, ...backlog].sort((a, b) => a.at - b.at);
  // One backlog row for each time at which occurrences may start. A parcel is ready only when the
  // last of its jobs is due, so occurrences due at different times must not share one.
  const turns = Map.groupBy(owed, ({ due }) => Math.max(due, turnAt.getTime()));
  const dates = (values: readonly number[]) => tx.array(values.map((value) => new Date(value)));
  for (const [turn, ofTurn] of turns) {
    for (let from = 0; from < ofTurn.length; from += rowMax) {
      const part = ofTurn.slice(from, from + rowMax);
      await tx`
        insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, taken, turn_at, noted_at)
        values (${id}, ${state.shard}, 'cadence', ${version}, ${dates(part.map(({ at }) => at))}::timestamptz[],
          ${dates(part.map(({ due }) => due))}::timestamptz[], 0, ${new Date(turn)}, ${state.now})`;
    }
  }
  if (owed.length > 0)
    await tx`
      update carillon.schedules set fires = fires + ${owed.length} where id = ${id} and max_fires is not null`;
  const all = [...rangesOf(passed), ...ranges];
  await noteRanges(tx, [{ schedule: { id, shard: state.shard }, ranges: all, notedAt: state.now }]);
  await writePassedEvents(
    tx,
    all.map((range) => ({ scheduleId: id, ...range })),
  );
  return owed.length;
}

/** How an edit makes the jobs due by now and those due before the next tick: at once, or later. */
export interface Maker {
  firePlanned: (
    ...params: Parameters<typeof firePlanned>
  ) => Promise<{ jobs: number; parcels: OutgoingParcel[] }>;
  fireRelease: typeof fireRelease;
  planFrom: typeof planFrom;
  planBeyondHold: typeof planBeyondHold;
  noteSkipped: typeof noteSkipped;
  /** Runs the statements that several edits share. Null if each edit runs alone. */
  together: (<Done>(work: () => Promise<Done>) => Promise<Done>) | null;
}
