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

/** So many of one shard are looked at in one transaction, during which claims of the shard wait. */
const lookedMax = 250;
/** Of so many each look takes those that are longest due, of all shards. */
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
 * Deletes the schedules with `deleteOnEnd` that have ended. One is looked at when it is new or edited, and from then on whenever it may
 * have ended: when its next occurrence has come. One whose last job is dead stays, so that somebody can look at it and have it tried again.
 * A schedule at which the look fails is set aside. Returns how many were deleted.
 */
export async function deleteEnded(
  deps: EndedDeps,
  { timeIsUp, note }: { timeIsUp: () => boolean; note: (error: unknown) => void },
): Promise<number> {
  let deleted = 0;
  const tell = (more: number) => {
    deleted += more;
  };
  // Until the next tick a shard is left whose locks are not to be had: its schedules would be listed first again.
  const left = new Set<number>();
  let tried: Ended[] = [];
  while (!timeIsUp()) {
    const due = await dueLooks(deps.sql, [...left]);
    if (due.length === 0 || allListedAgain(tried, due)) break;
    tried = [];
    for (const [shard, ofShard] of Map.groupBy(due, (ended) => ended.shard)) {
      if (timeIsUp()) break;
      const some = ofShard.slice(0, lookedMax);
      tried.push(...some);
      try {
        await lookAtSome(deps, shard, some, { timeIsUp, tell });
      } catch (error) {
        if (!(error instanceof OfNoRow)) throw error;
        note(error.cause);
        left.add(shard);
      }
    }
  }
  return deleted;
}

function dueLooks(sql: Sql, left: readonly number[]): PromiseLike<Ended[]> {
  const id = sql`s.id`;
  return sql<Ended[]>`
    select * from (
      select s.id as item, s.id as "scheduleId", s.shard, ${isAside(sql, "ended", id)} as aside from carillon.schedules s
      where s.end_look_at <= (select carillon.clock()) and s.shard <> all (${[...left]}::smallint[]) and not ${waitsAside(sql, "ended", id)}
      order by s.end_look_at limit ${dueMax}) due
    order by shard, item`;
}

async function lookAtSome(
  { sql, log, queue }: EndedDeps,
  shard: number,
  looked: readonly Ended[],
  bounds: { timeIsUp: () => boolean; tell: (deleted: number) => void },
): Promise<void> {
  await tryInHalves(
    { sql, log, consumer: "ended" },
    looked,
    async (part) => {
      const look = { shard, ids: part.map(({ item }) => item), briefly: part.length < looked.length };
      bounds.tell(
        await blameOnceLocked((noteLocked) =>
          unfoldingInTime(queue.timing, part.length, () =>
            sql.begin((tx) => lookAtShard(tx, look, noteLocked)),
          ),
        ),
      );
    },
    bounds.timeIsUp,
  );
}

interface Look {
  shard: number;
  ids: readonly string[];
  /** It is a part of those that have failed together. */
  briefly: boolean;
}

/** Under the gate nothing of these schedules starts and nobody edits them. */
async function lookAtShard(tx: Tx, { shard, ids, briefly }: Look, noteLocked: () => void): Promise<number> {
  const [, , once, state] = await Promise.all([
    lockForChange(tx, { shards: [shard], briefly, noteLocked, waitingForRows: ids.length }),
    lockRows(tx, ids),
    finishedOneTimeSchedules(tx, ids),
    readShard(tx, shard),
  ]);
  await deleteEndedVersions(tx, once, { name: "carillon", at: state.now });
  const isOver = new Set(once.map(({ id }) => id));
  const others = ids.filter((id) => !isOver.has(id));
  return once.length + (others.length === 0 ? 0 : await lookAtEach(tx, state, others));
}

/** They are read as whoever asks for them is told of them. */
async function lookAtEach(tx: Tx, state: ShardState, ids: readonly string[]): Promise<number> {
  const locked = await lockSchedules(tx, ids);
  refuseOtherMoment(locked);
  const found = locked.filter(({ body }) => body.deleteOnEnd);
  const toEnd = new Set(found.map(({ id }) => id));
  await neverLook(
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
  await lookAgain(
    tx,
    kept.map((schedule) => ({
      id: schedule.id,
      at: nextLook(schedule, read.get(schedule.id), standing.get(schedule.id), state.now),
    })),
  );
  return gone.length;
}

/** For so long its last beat may be tried again. */
const beatsLateMs = 15 * 60_000;

function mayStillBeat(schedule: StoredSchedule, now: Date): boolean {
  if (!isPulse(schedule)) return false;
  const timetable = timetableOf(schedule);
  const last = previousRunBefore(timetable.cadence, now.getTime());
  return last !== null && dueAt(timetable, last) > now.getTime() - beatsLateMs;
}

type Standing = "unsettled" | "dead" | "settled";

/** How many of a schedule's last jobs are looked at for one that is not settled. */
const jobsLookedAt = 30;

/** How the last jobs of ended schedules stand, those beside the cadence too. */
async function standings(
  tx: Tx,
  schedules: readonly StoredSchedule[],
  now: Date,
): Promise<Map<string, Standing>> {
  const cadenced = schedules.flatMap((schedule) => counted(() => lastRuns(schedule, now)));
  const beside = await tx<{ scheduleId: string; occurrence: Date; kind: JobRead["kind"]; n: number }[]>`
    select b.schedule_id as "scheduleId", b.occurrence, b.kind, b.n
    from unnest(${schedules.map(({ id }) => id)}::bigint[]) s (id) cross join lateral (
      select * from carillon.jobs_beside b where b.schedule_id = s.id order by b.occurrence desc, b.kind desc, b.n desc limit ${jobsLookedAt}) b`;
  const jobs = Map.groupBy(await readJobsAt(tx, [...cadenced, ...beside]), ({ scheduleId }) => scheduleId);
  return new Map(schedules.map(({ id }) => [id, standingOf(jobs.get(id) ?? [])]));
}

/**
 * Those that have a job that is not settled among those before the last, or of a cadence before an edit: whatever waits is in a parcel. Of
 * another shard's parcels only those that passed a lane hold jobs of this one.
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
    from carillon.parcels p cross join lateral unnest(p.schedule_ids) k (id)
    where (p.shard = ${shard} or p.laned) and p.schedule_ids && ${ids}::bigint[] and k.id = any(${ids}::bigint[])`;
  return new Set(open.map(({ id }) => id));
}

function lastRuns(schedule: StoredSchedule, now: Date): { scheduleId: string; occurrence: Date }[] {
  const timetable = timetableOf(schedule);
  const runs: { scheduleId: string; occurrence: Date }[] = [];
  let at = previousRunBefore(timetable.cadence, occurrenceDueBy(timetable, now.getTime()) + 1);
  for (; at !== null && runs.length < jobsLookedAt; at = previousRunBefore(timetable.cadence, at))
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

/** It cannot have ended before its next occurrence, nor while it is held. */
function nextLook(
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

/** They are deleted, or have no `deleteOnEnd`: their row was edited since they were listed, or by hand. */
async function neverLook(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx`update carillon.schedules set end_look_at = null where id = any(${[...ids]}::bigint[]) and end_look_at is not null`;
}

async function lookAgain(tx: Tx, looks: readonly { id: string; at: Date }[]): Promise<void> {
  if (looks.length === 0) return;
  await tx`
    update carillon.schedules s set end_look_at = l.at
    from unnest(${looks.map(({ id }) => id)}::bigint[], ${tx.array(looks.map(({ at }) => at))}::timestamptz[]) l (id, at)
    where s.id = l.id`;
}
