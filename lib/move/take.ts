import type { Tx } from "../db/connect.ts";
import { retrying } from "../db/retrying.ts";
import { forgetFailures } from "../edit/apply-edit.ts";
import { cancelJobsInside } from "../edit/cancel-jobs.ts";
import { editConflicts } from "../edit/edit-conflicts.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { lockForChange } from "../edit/lock-for-change.ts";
import { callEntry } from "../edit/note-jobs.ts";
import type { JobKey } from "../job/job-id.ts";
import { occurrencesWithin } from "../job/withdraw.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { horizonMs, readShards, type ShardState, stateOf } from "../plan/shard.ts";
import { PassingConflict } from "../refusal.ts";
import { type Hold, holdsOf, removeHolds } from "../schedule/holds.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { lockLabelAlone } from "../schedule/shared-holds.ts";
import { lockSchedules, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";
import { raiseVersions } from "../schedule/write-schedule.ts";
import { holdOwner, type Stuck, type StuckSchedule } from "./freeze.ts";
import { endsSinceFreeze, heldSpan, isOf } from "./held-span.ts";
import type { MovedPart, MovedSchedule } from "./moved-doc.ts";
import { type Move, openMove } from "./moves.ts";
import { partsOf } from "./parts.ts";
import {
  type JobRow,
  movedJobs,
  readCancelledAhead,
  readFailures,
  readOpenJobs,
  readVersions,
  runningAmong,
  takeOwed,
} from "./read-moving.ts";

/** The most schedules of one transaction: claims of their shards wait meanwhile. */
export const takenMax = 50;
/** A schedule with more open jobs stays until they are fewer. */
const jobsMax = 20_000;

export interface Taken {
  /** Schedules that are gone from here, and wait to be confirmed by the other installation. */
  taken: number;
  stuck: StuckSchedule[];
}

/**
 * Takes schedules out of this installation: with their versions, holds and open jobs they become
 * documents, and end here, in one transaction. From its commit on none of their jobs starts here.
 */
export async function takeSchedules(
  deps: EditDeps,
  { id, schedules, caller }: { id: string; schedules: readonly string[]; caller: Caller },
): Promise<Taken> {
  const { taken, stuck, parcels } = await retrying(editConflicts, () =>
    deps.sql.begin((tx) => takeOnce(tx, id, schedules, caller)),
  );
  await handOver(deps.sql, deps.queue, parcels);
  return { taken, stuck };
}

async function takeOnce(
  tx: Tx,
  moveId: string,
  ids: readonly string[],
  caller: Caller,
): Promise<Taken & { parcels: OutgoingParcel[] }> {
  const move = await openMove(tx, moveId, "out");
  const places = await tx<{ shard: number; group: string | null }[]>`
    select distinct shard, case when lane is not null then group_key end as "group"
    from carillon.schedules where id = any(${[...ids]}::bigint[]) and deleted_at is null`;
  // Alone: no schedule joins a group of which the others are being taken.
  for (const name of [...new Set(places.flatMap(({ group }) => group ?? []))].sort())
    await lockLabelAlone(tx, { scope: "group", name });
  const [, stored, states] = await Promise.all([
    lockForChange(tx, { shards: [...new Set(places.map(({ shard }) => shard))] }),
    lockSchedules(tx, ids),
    readShards(tx),
  ]);
  const own = stored.filter(({ key }) => key.startsWith(move.prefix));
  const [holds, open] = [await holdsOf(tx, idsOf(own)), await readOpenJobs(tx, idsOf(own))];
  const stuck: StuckSchedule[] = [];
  const busyLanes = await lanesNotAtRest(tx, move, own);
  const leased = new Set(open.flatMap((job) => (job.leased ? [job.scheduleId] : [])));
  const counts = Map.groupBy(open, ({ scheduleId }) => scheduleId);
  const wanted = await tx<{ id: string }[]>`
    select schedule_id as id from carillon.wanted_holds where schedule_id = any(${idsOf(own)}::bigint[])`;
  const waits = new Set(wanted.map(({ id }) => id));
  const ready = own.filter((schedule) => {
    const why = stuckBy(schedule, {
      isFrozen: (holds.get(schedule.id) ?? []).some(isOf(move)),
      isRunning: leased.has(schedule.id) || waits.has(schedule.id) || busyLanes.has(schedule.lane ?? ""),
      jobs: counts.get(schedule.id)?.length ?? 0,
    });
    if (why !== null) stuck.push({ id: schedule.id, key: schedule.key, why });
    return why === null;
  });
  if (ready.length === 0) return { taken: 0, stuck, parcels: [] };
  const fitting = fittingOf(ready, (id) => counts.get(id)?.length ?? 0);
  // The gates are held, and no worker has a job of these: the jobs are still as they were read.
  const ofFitting = fitting.flatMap(({ id }) => counts.get(id) ?? []);
  const parcels = await takeReady(tx, move, fitting, { states, holds, open: ofFitting, caller });
  return { taken: fitting.length, stuck, parcels };
}

/** The schedules of one transaction have no more open jobs than one alone may have. The next pass takes the others. */
function fittingOf(ready: readonly StoredSchedule[], jobsOf: (id: string) => number): StoredSchedule[] {
  let jobs = 0;
  return ready.filter(({ id }, index) => {
    jobs += jobsOf(id);
    return index === 0 || jobs <= jobsMax;
  });
}

const idsOf = (schedules: readonly StoredSchedule[]) => schedules.map(({ id }) => id);

function stuckBy(
  { aside, unread }: StoredSchedule,
  { isFrozen, isRunning, jobs }: { isFrozen: boolean; isRunning: boolean; jobs: number },
): Stuck | null {
  if (aside !== null || unread !== null) return "unreadable";
  if (!isFrozen) return "unfrozen";
  if (isRunning) return "running";
  return jobs > jobsMax ? "jobs" : null;
}

/**
 * The lanes of these schedules in which a job is under way, or of which a member runs because the
 * move does not hold it.
 */
async function lanesNotAtRest(
  tx: Tx,
  move: Move,
  schedules: readonly StoredSchedule[],
): Promise<ReadonlySet<string>> {
  const lanes = [...new Set(schedules.flatMap(({ lane }) => lane ?? []))];
  if (lanes.length === 0) return new Set();
  const groups = [...new Set(schedules.flatMap(({ body }) => body.group ?? []))];
  const members = await tx<{ id: string; lane: string; frozen: boolean }[]>`
    select s.id, s.lane, h.owner is not null as frozen
    from carillon.schedules s
    left join carillon.holds h on h.schedule_id = s.id and h.scope = 'schedule' and h.name = '' and h.owner = ${holdOwner(move)}
    where s.group_key = any(${groups}::text[]) and s.deleted_at is null and s.lane = any(${lanes}::text[])`;
  const running = await runningAmong(
    tx,
    members.map(({ id }) => id),
  );
  return new Set(members.flatMap(({ id, lane, frozen }) => (!frozen || running.has(id) ? [lane] : [])));
}

async function takeReady(
  tx: Tx,
  move: Move,
  ready: readonly StoredSchedule[],
  {
    states,
    holds,
    open,
    caller,
  }: {
    states: ReadonlyMap<number, ShardState>;
    holds: ReadonlyMap<string, Hold[]>;
    open: readonly JobRow[];
    caller: Caller;
  },
): Promise<OutgoingParcel[]> {
  const ids = idsOf(ready);
  const ahead = await readCancelledAhead(
    tx,
    ready.flatMap((schedule) => comingOf(schedule, stateOf(states, schedule.shard))),
  );
  const jobs = Map.groupBy(await movedJobs(tx, [...open, ...ahead]), ({ scheduleId }) => scheduleId);
  const versions = await readVersions(tx, ids);
  const failures = await readFailures(tx, ids);
  const fresh = await freshVersions(tx, ids);
  const owed = await takeOwed(tx, ids);
  const ends = await endsSinceFreeze(tx, move, ready);
  const parts = ready.flatMap((schedule) => {
    const own = holds.get(schedule.id) ?? [];
    const doc: MovedSchedule = {
      key: schedule.key,
      version: schedule.version,
      specVersion: schedule.specVersion,
      freshVersion: fresh.get(schedule.id) ?? null,
      createdAt: schedule.createdAt.toISOString(),
      createdBy: schedule.createdBy,
      fires: schedule.fires,
      failures: failures.get(schedule.id) ?? null,
      ...heldSpan(schedule, {
        move,
        holds: own,
        versions: versions.get(schedule.id) ?? [],
        ended: ends.get(schedule.id),
      }),
      holds: own.filter((hold) => !isOf(move)(hold)).map(movedHold),
      versions: versions.get(schedule.id) ?? [],
    };
    const moved = {
      jobs: (jobs.get(schedule.id) ?? []).map(({ job }) => job),
      owed: owed.get(schedule.id) ?? [],
    };
    return partsOf(schedule.id, doc, moved).map((part) => ({
      key: schedule.key,
      laneGroup: schedule.lane !== null && part.part === 0 ? schedule.body.group : null,
      doc: part,
    }));
  });
  const parcels = await endJobs(tx, open, { caller, move });
  await raiseVersions(
    tx,
    ready.map((current) => ({
      current,
      raised: {
        change: "deleted",
        deleted: true,
        held: null,
        detail: { move: move.id, movedTo: move.peer },
      },
      author: { ...caller, at: stateOf(states, current.shard).now },
    })),
  );
  await forgetFailures(tx, ids);
  await removeHolds(tx, ids);
  await keepParts(tx, move, parts);
  return parcels;
}

/** The occurrences after the beginning of the hold that may have had a job by then, made ahead of its time. */
function comingOf(schedule: StoredSchedule, { now }: ShardState) {
  const timetable = timetableOf(schedule);
  const since = (schedule.heldSince ?? now).getTime();
  const [from, to] = [occurrenceDueBy(timetable, since), occurrenceDueBy(timetable, since + horizonMs)];
  return occurrencesWithin(schedule.cadence, from, to).map((occurrence) => ({
    scheduleId: schedule.id,
    occurrence,
  }));
}

function movedHold({ since, until, ...hold }: Hold): MovedSchedule["holds"][number] {
  return { ...hold, since: since.toISOString(), until: until?.toISOString() ?? null };
}

/** The database compares each job of one cancel with each other one. */
const cancelledMax = 500;

/** Cancels the open jobs: they go on in the other installation. */
async function endJobs(
  tx: Tx,
  open: readonly JobKey[],
  { caller, move }: { caller: Caller; move: Move },
): Promise<OutgoingParcel[]> {
  if (open.length === 0) return [];
  const entry = callEntry({ prefix: move.prefix, move: move.id });
  const by = { caller, detail: { move: move.id }, entry };
  const parcels: OutgoingParcel[] = [];
  for (let from = 0; from < open.length; from += cancelledMax) {
    const some = await cancelJobsInside(tx, open.slice(from, from + cancelledMax), by);
    if (some.done.some(({ became }) => became !== "cancelled"))
      throw new PassingConflict("A job changed while its schedule was being moved. Retry the request.");
    entry.written ??= some.entry;
    parcels.push(...some.parcels);
  }
  await tx`
    update carillon.jobs j set reason = 'moved'
    from unnest(${tx.array(open.map(({ occurrence }) => occurrence))}::timestamptz[], ${open.map(({ scheduleId }) => scheduleId)}::bigint[],
      ${open.map(({ kind }) => kind)}::text[]::carillon.job_kind[], ${open.map(({ n }) => n)}::int[]) k (occurrence, schedule_id, kind, n)
    where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n and j.state = 'cancelled'`;
  return parcels;
}

async function keepParts(
  tx: Tx,
  move: Move,
  parts: readonly { key: string; laneGroup: string | null; doc: MovedPart }[],
): Promise<void> {
  await tx`
    insert into carillon.moved_schedules (move_id, schedule_id, part, key, lane_group, doc, taken_at)
    select ${move.id}, p.id, p.part, p.key, p.lane_group, p.doc, carillon.clock()
    from unnest(${parts.map(({ doc }) => doc.id)}::bigint[], ${parts.map(({ doc }) => doc.part)}::int[], ${parts.map(({ key }) => key)}::text[],
      ${parts.map(({ laneGroup }) => laneGroup)}::text[], ${parts.map(({ doc }) => JSON.stringify(doc))}::text[]::jsonb[])
      p (id, part, key, lane_group, doc)`;
}

async function freshVersions(tx: Tx, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx<{ id: string; version: number }[]>`
    select id, fresh_version as version from carillon.schedules where id = any(${[...ids]}::bigint[]) and fresh_version is not null`;
  return new Map(rows.map(({ id, version }) => [id, version]));
}
