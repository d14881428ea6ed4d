import { previousRunBefore } from "../cadence/cadence.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { lockForChange } from "../edit/lock-for-change.ts";
import { readStored, type ScheduleRead } from "../history/read-schedule.ts";
import { type JobRead, readJobsAt } from "../job/read-job.ts";
import type { Log } from "../log/log.ts";
import type { ParcelQueue } from "../parcel/parcel-queue.ts";
import { readShard, type ShardState } from "../plan/shard.ts";
import { counted, unfoldingInTime } from "../plan/unfolding-time.ts";
import { blameOnceLocked, OfNoRow } from "../quarantine/in-halves.ts";
import { isAside, waitsAside } from "../quarantine/quarantine.ts";
import { allListedAgain, type Tried, tryInHalves } from "../quarantine/try-rows.ts";
import { isPulse } from "../schedule/shape/pulse-shape.ts";
import {
  lockRows,
  lockSchedules,
  refuseOtherMoment,
  type StoredSchedule,
} from "../schedule/stored/stored-schedule.ts";
import { dueAt, occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";
import { deleteEndedVersions } from "../schedule/write-many.ts";
import { finishedOneTimeSchedules } from "./finished-one-time.ts";

/**
 * Limit of schedules of one shard that are checked in one transaction. Claims of the shard wait
 * meanwhile.
 */
const checkedMax = 250;
/** Limit of schedules in one listing, of all shards: those that have been due the longest. */
const dueMax = 4_000;

interface Ended extends Tried {
  shard: number;
}

interface EndedDeps {
  sql: Sql;
  log: Log;
  queue: Pick<ParcelQueue, "timing">;
}

/**
 * Deletes ended schedules with `deleteOnEnd`. A schedule is checked when it is new or edited, and
 * then whenever it may have ended: when its next occurrence has come. A schedule whose last job is
 * dead stays, so that the job can be inspected and retried. A schedule whose check fails is set
 * aside. Returns the number of deleted schedules.
 */
export async function deleteEnded(
  deps: EndedDeps,
  { timeIsUp, note }: { timeIsUp: () => boolean; note: (error: unknown) => void },
): Promise<number> {
  let deleted = 0;
  const count = (more: number) => {
    deleted += more;
  };
  // Shards whose locks were not granted. They are left until the next tick: their schedules would
  // be listed first again.
  const left = new Set<number>();
  let tried: Ended[] = [];
  while (!timeIsUp()) {
    const due = await dueChecks(deps.sql, [...left]);
    if (due.length === 0 || allListedAgain(tried, due)) break;
    tried = [];
    for (const [shard, ofShard] of Map.groupBy(due, (ended) => ended.shard)) {
      if (timeIsUp()) break;
      const some = ofShard.slice(0, checkedMax);
      tried.push(...some);
      try {
        await checkSome(deps, shard, some, { timeIsUp, count });
      } catch (error) {
        if (!(error instanceof OfNoRow)) throw error;
        note(error.cause);
        left.add(shard);
      }
    }
  }
  return deleted;
}

function dueChecks(sql: Sql, left: readonly number[]): PromiseLike<Ended[]> {
  const id = sql`s.id`;
  return sql<Ended[]>`
    select * from (
      select s.id as item, s.id as "scheduleId", s.shard, ${isAside(sql, "ended", id)} as aside from carillon.schedules s
      where s.end_look_at <= (select carillon.clock()) and s.shard <> all (${[...left]}::smallint[]) and not ${waitsAside(sql, "ended", id)}
      order by s.end_look_at limit ${dueMax}) due
    order by shard, item`;
}

async function checkSome(
  { sql, log, queue }: EndedDeps,
  shard: number,
  looked: readonly Ended[],
  bounds: { timeIsUp: () => boolean; count: (deleted: number) => void },
): Promise<void> {
  await tryInHalves(
    { sql, log, consumer: "ended" },
    looked,
    async (part) => {
      const check = { shard, ids: part.map(({ item }) => item), briefly: part.length < looked.length };
      bounds.count(
        await blameOnceLocked((noteLocked) =>
          unfoldingInTime(queue.timing, part.length, () =>
            sql.begin((tx) => checkShard(tx, check, noteLocked)),
          ),
        ),
      );
    },
    bounds.timeIsUp,
  );
}

interface ShardCheck {
  shard: number;
  ids: readonly string[];
  /** Whether this is a part of a failed batch. */
  briefly: boolean;
}

/**
 * Deletes those of the schedules that have ended, and returns their number. The gate is held, so
 * meanwhile no job of these schedules starts and no edit changes them.
 */
async function checkShard(
  tx: Tx,
  { shard, ids, briefly }: ShardCheck,
  noteLocked: () => void,
): Promise<number> {
  const [, , once, state] = await Promise.all([
    lockForChange(tx, { shards: [shard], briefly, noteLocked, waitingForRows: ids.length }),
    lockRows(tx, ids),
    finishedOneTimeSchedules(tx, ids),
    readShard(tx, shard),
  ]);
  await deleteEndedVersions(tx, once, { name: "carillon", at: state.now });
  const isOver = new Set(once.map(({ id }) => id));
  const others = ids.filter((id) => !isOver.has(id));
  return once.length + (others.length === 0 ? 0 : await checkEach(tx, state, others));
}

/**
 * Checks schedules by the state that the API would show. Deletes those that have ended, and returns
 * their number.
 */
async function checkEach(tx: Tx, state: ShardState, ids: readonly string[]): Promise<number> {
  const locked = await lockSchedules(tx, ids);
  refuseOtherMoment(locked);
  const found = locked.filter(({ body }) => body.deleteOnEnd);
  const toEnd = new Set(found.map(({ id }) => id));
  await neverCheckAgain(
    tx,
    ids.filter((id) => !toEnd.has(id)),
  );
  const read = new Map((await readStored(tx, found)).map((schedule) => [schedule.id, schedule]));
  const over = found.filter(
    (schedule) =>
      read.get(schedule.id)?.state === "ended" && !counted(() => mayStillBeat(schedule, state.now)),
  );
  const standing = await standings(tx, over, state.now);
  const settled = over.filter(({ id }) => standing.get(id) === "settled");
  const open = await withOpenJobs(tx, state.shard, settled);
  const gone = settled.filter(({ id }) => !open.has(id));
  await deleteEndedVersions(tx, gone, { name: "carillon", at: state.now });
  const kept = found.filter((schedule) => !gone.includes(schedule));
  await checkLater(
    tx,
    kept.map((schedule) => ({
      id: schedule.id,
      at: nextCheck(schedule, read.get(schedule.id), standing.get(schedule.id), state.now),
    })),
  );
  return gone.length;
}

/** The last beat of a pulse may be retried for this long. */
const beatsLateMs = 15 * 60_000;

function mayStillBeat(schedule: StoredSchedule, now: Date): boolean {
  if (!isPulse(schedule)) return false;
  const timetable = timetableOf(schedule);
  const last = previousRunBefore(timetable.cadence, now.getTime());
  return last !== null && dueAt(timetable, last) > now.getTime() - beatsLateMs;
}

type Standing = "unsettled" | "dead" | "settled";

/** Number of last jobs of a schedule that are checked for an unsettled one. */
const jobsChecked = 30;

/** The state of the last jobs of ended schedules, including jobs beside the cadence. */
async function standings(
  tx: Tx,
  schedules: readonly StoredSchedule[],
  now: Date,
): Promise<Map<string, Standing>> {
  const cadenced = schedules.flatMap((schedule) => counted(() => lastRuns(schedule, now)));
  const beside = await tx<{ scheduleId: string; occurrence: Date; kind: JobRead["kind"]; n: number }[]>`
    select b.schedule_id as "scheduleId", b.occurrence, b.kind, b.n
    from unnest(${schedules.map(({ id }) => id)}::bigint[]) s (id) cross join lateral (
      select * from carillon.jobs_beside b where b.schedule_id = s.id order by b.occurrence desc, b.kind desc, b.n desc limit ${jobsChecked}) b`;
  const jobs = Map.groupBy(await readJobsAt(tx, [...cadenced, ...beside]), ({ scheduleId }) => scheduleId);
  return new Map(schedules.map(({ id }) => [id, standingOf(jobs.get(id) ?? [])]));
}

/**
 * The schedules that still have a job in a parcel, as every waiting job is. Such a job may be older
 * than the last ones that were checked, or of a cadence before an edit. Among parcels of other
 * shards, only laned ones can hold jobs of this shard.
 */
async function withOpenJobs(
  tx: Tx,
  shard: number,
  schedules: readonly StoredSchedule[],
): Promise<Set<string>> {
  if (schedules.length === 0) return new Set();
  const ids = schedules.map(({ id }) => id);
  const open = await tx<{ id: string }[]>`
    select distinct k.id
    from carillon.parcels_of(${ids}::bigint[]) own (id) join carillon.parcels p on p.id = own.id
    cross join lateral unnest(p.schedule_ids) k (id)
    where (p.shard = ${shard} or p.laned) and k.id = any(${ids}::bigint[])`;
  return new Set(open.map(({ id }) => id));
}

function lastRuns(schedule: StoredSchedule, now: Date): { scheduleId: string; occurrence: Date }[] {
  const timetable = timetableOf(schedule);
  const runs: { scheduleId: string; occurrence: Date }[] = [];
  let at = previousRunBefore(timetable.cadence, occurrenceDueBy(timetable, now.getTime()) + 1);
  for (; at !== null && runs.length < jobsChecked; at = previousRunBefore(timetable.cadence, at))
    runs.push({ scheduleId: schedule.id, occurrence: new Date(at) });
  return runs;
}

function standingOf(jobs: readonly JobRead[]): Standing {
  if (jobs.some(({ state }) => state === "waiting" || state === "running" || state === "retrying"))
    return "unsettled";
  const newest = jobs.reduce<JobRead | null>(
    (last, job) => (last === null || job.occurrence > last.occurrence ? job : last),
    null,
  );
  return newest?.state === "dead" ? "dead" : "settled";
}

const soonMs = 60_000;
const rarelyMs = 6 * 3_600_000;

/**
 * When to check a schedule again. It cannot have ended before its next occurrence, nor while it is
 * held.
 */
function nextCheck(
  { heldUntil }: StoredSchedule,
  read: ScheduleRead | undefined,
  standing: Standing | undefined,
  now: Date,
): Date {
  const soon = new Date(now.getTime() + soonMs);
  const rarely = new Date(now.getTime() + rarelyMs);
  if (read?.state === "paused") return heldUntil !== null && heldUntil > soon ? heldUntil : rarely;
  if (standing === "dead") return rarely;
  return read?.nextAt != null && read.nextAt > soon ? read.nextAt : soon;
}

/**
 * For schedules that are deleted or have no `deleteOnEnd`: their row was edited since the listing,
 * or by hand.
 */
async function neverCheckAgain(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx`update carillon.schedules set end_look_at = null where id = any(${[...ids]}::bigint[]) and end_look_at is not null`;
}

async function checkLater(tx: Tx, checks: readonly { id: string; at: Date }[]): Promise<void> {
  if (checks.length === 0) return;
  await tx`
    update carillon.schedules s set end_look_at = l.at
    from unnest(${checks.map(({ id }) => id)}::bigint[], ${tx.array(checks.map(({ at }) => at))}::timestamptz[]) l (id, at)
    where s.id = l.id`;
}
