import type { Tx } from "../db/connect.ts";
import { lockForChange } from "../edit/lock-for-change.ts";
import type { Lookups } from "../edit/lookups.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { noteRanges } from "../plan/note-passed.ts";
import { readShard, shardOf } from "../plan/shard.ts";
import { writeHoldsOfEach } from "../schedule/holds.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { cadenceIds } from "../schedule/stored/cadence-columns.ts";
import { findSchedulesById, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { insertArrived, raiseVersions } from "../schedule/write-schedule.ts";
import { arriveJobs, type JobsHere } from "./arrive-jobs.ts";
import type { Admitted } from "./decide-arrivals.ts";
import { type HoldsHere, holdsHere } from "./holds-here.ts";
import type { Move } from "./moves.ts";
import { planArrived } from "./plan-arrived.ts";
import { rangesBefore } from "./ranges-before.ts";
import { writeVersions } from "./write-versions.ts";

export interface BeginParams {
  move: Move;
  caller: Caller;
  known: Lookups;
  /** Called before each step. Throws to roll all of them back. */
  inTime: () => void;
}

/**
 * Makes schedules of another installation here, with their versions, holds and jobs, and plans them:
 * all occurrences that have become due since they were frozen there become jobs. Each step writes
 * all schedules in a few statements.
 */
export async function beginHere(
  tx: Tx,
  admitted: readonly Admitted[],
  { move, caller, known, inTime }: BeginParams,
): Promise<OutgoingParcel[]> {
  if (admitted.length === 0) return [];
  const keys = admitted.map(({ schedule }) => schedule.key);
  // The keys are here again, if they were moved away earlier.
  await tx`
    delete from carillon.moved_schedules m using (
      select move_id, schedule_id from carillon.moved_schedules where key = any(${keys}::text[]) and part = 0 offset 0) former
    where m.move_id = former.move_id and m.schedule_id = former.schedule_id and m.confirmed_at is not null`;
  inTime();
  await writeSpecs(tx, admitted);
  inTime();
  const held: (Admitted & HoldsHere)[] = [];
  for (const each of admitted) held.push({ ...each, ...(await holdsHere(known, each)) });
  await writeHoldsOfEach(
    tx,
    held.map(({ scheduleId, holds }) => ({ scheduleId, holds: { set: holds } })),
  );
  inTime();
  await raiseArrived(tx, held, move, caller);
  inTime();
  const parcels = await arriveJobs(
    tx,
    admitted.map(({ part, scheduleId, state }) => ({ ...part, scheduleId, state })),
  );
  inTime();
  const stored = await requireSchedules(tx, held);
  const planned = await planArrived(
    tx,
    stored.map(({ each, current }) => ({
      state: each.state,
      schedule: current,
      since: new Date(each.schedule.heldSince),
      held: each.held,
      ended: each.ended,
    })),
  );
  return [...parcels, ...planned];
}

/** Adds further jobs to a schedule that has begun here, and that may have been deleted since. */
export async function jobsHere(tx: Tx, here: Omit<JobsHere, "state">): Promise<OutgoingParcel[]> {
  const shard = shardOf(here.scheduleId);
  await lockForChange(tx, { shards: [shard], gates: [] });
  const state = await readShard(tx, shard);
  const [live] =
    await tx`select from carillon.schedules where id = ${here.scheduleId} and deleted_at is null`;
  return arriveJobs(tx, [{ ...(live === undefined ? cancelled(here) : here), state }]);
}

/** The delete would have cancelled these jobs, had they been here. */
function cancelled({ scheduleId, jobs }: Omit<JobsHere, "state">): Omit<JobsHere, "state"> {
  const ended = jobs.map((job) => (job.open ? { ...job, open: false, reason: "deleted" } : job));
  return { scheduleId, jobs: ended, owed: [] };
}

async function writeSpecs(tx: Tx, admitted: readonly Admitted[]): Promise<void> {
  const read = admitted.flatMap(({ specs }) => specs.versions);
  const ids = await cadenceIds(
    tx,
    read.map(({ spec }) => spec),
  );
  const cadences = new Map(read.map((each, index) => [each, ids[index] ?? null]));
  await insertArrived(
    tx,
    admitted.map(({ scheduleId, schedule, specs: { current }, state, teamId }) => {
      const { version, changedBy, changedAt, change } = current.version;
      return {
        id: scheduleId,
        key: schedule.key,
        shard: state.shard,
        spec: current.spec,
        cadenceId: cadences.get(current) ?? null,
        held: null,
        teamId,
        version,
        change,
        author: { name: changedBy, at: new Date(changedAt) },
      };
    }),
  );
  await writeVersions(tx, admitted, cadences);
}

/** The arrival is a version of its own, which has the entry in the audit. */
async function raiseArrived(
  tx: Tx,
  held: readonly (Admitted & HoldsHere)[],
  move: Move,
  caller: Caller,
): Promise<void> {
  const arrived = await requireSchedules(tx, held);
  await raiseVersions(
    tx,
    arrived.map(({ each, current }) => ({
      current,
      raised: { change: "resumed", held: each.held, detail: { move: move.id, movedFrom: move.peer } },
      author: { ...caller, at: each.state.now },
    })),
  );
  await noteRanges(
    tx,
    arrived.map(({ each, current }) => ({
      schedule: current,
      ranges: rangesBefore(each.schedule, each.specs),
      notedAt: each.state.now,
    })),
  );
}

async function requireSchedules<Each extends { scheduleId: string }>(
  tx: Tx,
  all: readonly Each[],
): Promise<{ each: Each; current: StoredSchedule }[]> {
  const stored = await findSchedulesById(
    tx,
    all.map(({ scheduleId }) => scheduleId),
  );
  const byId = new Map(stored.map((schedule) => [schedule.id, schedule]));
  return all.map((each) => {
    const current = byId.get(each.scheduleId);
    if (current === undefined)
      throw new Error(`The schedule ${each.scheduleId} has no row right after its insert.`);
    if (current.unread !== null)
      throw new Error(
        `The schedule ${each.scheduleId} cannot be read right after its insert: ${current.unread}`,
      );
    return { each, current };
  });
}
