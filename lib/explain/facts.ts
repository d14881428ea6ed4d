import { nextRunAfter, previousRunBefore, unreadableReason } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import type { Tx } from "../db/connect.ts";
import { detailOfVersion } from "../history/version-detail.ts";
import { type JobKey, jobId } from "../job/job-id.ts";
import { type JobRead, readJob, readJobsAt } from "../job/read-job.ts";
import { type Outage, readOutages } from "../parcel/outages.ts";
import { type RunLimit, runLimitOf } from "../plan/fires-left.ts";
import { plannedUpTo, readShard } from "../plan/shard.ts";
import { Refusal } from "../refusal.ts";
import { type Hold, holdsOfOne } from "../schedule/holds.ts";
import type { Json } from "../schedule/shape/json.ts";
import { cadenceColumns } from "../schedule/stored/cadence-columns.ts";
import { findSchedulesById } from "../schedule/stored/stored-schedule.ts";
import { type SpecColumns, specOf } from "../schedule/stored/stored-spec.ts";
import type { ScheduleChange } from "../schedule/stored/version-rows.ts";
import { earlyMs } from "./place.ts";
import type { PassedFact, TravelFact, VersionFact } from "./verdict.ts";

export interface SubjectRow {
  id: string;
  shard: number;
  createdAt: Date;
  deletedAt: Date | null;
  heldSince: Date | null;
  heldUntil: Date | null;
  maxFires: number | null;
}

/**
 * The schedule that had the key at an instant; if there was none, the one that has it now, or had
 * it last.
 */
export async function findSubject(tx: Tx, key: string, at: Date): Promise<SubjectRow> {
  const columns = tx`id, shard, created_at as "createdAt", deleted_at as "deletedAt", held_since as "heldSince", held_until as "heldUntil", max_fires as "maxFires"`;
  const [live] = await tx<SubjectRow[]>`
    select ${columns} from carillon.schedules where key = ${key} and deleted_at is null`;
  if (live !== undefined && (live.createdAt <= at || (await hasEarlyJob(tx, live, at)))) return live;
  // A key has one schedule at a time. So the schedule that had it at the instant is among the first
  // two deleted since; a key may have had thousands.
  const gone = tx`select * from carillon.schedules where key = ${key} and deleted_at is not null`;
  const [deleted] = await tx<SubjectRow[]>`
    select ${columns} from (
      (${gone} and deleted_at >= ${at} order by deleted_at limit 2)
      union all (${gone} and deleted_at < ${at} order by deleted_at desc limit 1)
      union all (${gone} order by deleted_at desc limit 1)) gone
    ${live === undefined ? tx`` : tx`where created_at <= ${at} and deleted_at >= ${at}`}
    order by created_at <= ${at} desc, deleted_at desc limit 1`;
  const subject = deleted ?? live;
  if (subject !== undefined) return subject;
  throw new Refusal("missing", `There is no schedule ${JSON.stringify(key)}, and there was none.`);
}

/**
 * Whether the schedule has an `at` at the instant that lies a little before the schedule's
 * creation.
 */
async function hasEarlyJob(tx: Tx, { id, createdAt }: SubjectRow, at: Date): Promise<boolean> {
  if (at.getTime() <= createdAt.getTime() - earlyMs) return false;
  const found = await tx`
    select from carillon.jobs where occurrence = ${at} and schedule_id = ${id} and kind = 'cadence' and n = 0`;
  return found.length > 0;
}

/** Largest number of versions read before an instant, and after it. */
const versionsMax = 30;

interface VersionRow extends Omit<SpecColumns, "payload"> {
  version: number;
  change: ScheduleChange;
  at: Date;
  by: string;
  held: boolean;
  heldUntil: Date | null;
  detail: Json;
}

/**
 * The versions around an instant, oldest first, with the owner and reason of their holds. With
 * `more`, so many more of those after it.
 */
export async function versionsAround(
  tx: Tx,
  scheduleId: string,
  at: Date,
  { more = 0 }: { more?: number } = {},
): Promise<VersionFact[]> {
  const [known] = await tx<{ version: number }[]>`
    select version from carillon.schedule_versions
    where schedule_id = ${scheduleId} and changed_at < ${at} order by version desc limit 1`;
  const version = known?.version ?? 0;
  const rows = await tx<VersionRow[]>`
    select own.version, own.change, own.changed_at as at, own.changed_by as by, own.held, own.held_until as "heldUntil",
      a.detail, v.body as sparse, v.target, ${cadenceColumns(tx)}
    from carillon.schedule_versions own
    join carillon.schedule_versions v on v.schedule_id = own.schedule_id and v.version = own.spec_version
    left join carillon.cadences c on c.id = v.cadence_id
    left join carillon.calendar_versions r on r.id = c.calendar_version
    left join lateral (${detailOfVersion(tx, tx`own`)}) a on true
    where own.schedule_id = ${scheduleId} and own.version > ${version - versionsMax} and own.version <= ${version + versionsMax + more}
    order by own.version`;
  return rows.map((row) => ({
    version: row.version,
    change: row.change,
    at: row.at.getTime(),
    by: row.by,
    held: row.held,
    heldUntil: row.heldUntil?.getTime() ?? null,
    detail: row.detail,
    ...specOf({ ...row, payload: null }),
  }));
}

/**
 * One instant has few jobs: one of the cadence, a backfill, and those fired in the same
 * millisecond.
 */
const besideMax = 10;

/** The cadence's job of an occurrence and its other jobs, each with its attempts. */
export async function jobsOfInstant(
  tx: Tx,
  scheduleId: string,
  occurrence: Date,
): Promise<{ job: JobRead | null; beside: JobRead[] }> {
  const keys = await tx<{ kind: JobRead["kind"]; n: number }[]>`
    select kind, n from carillon.jobs where occurrence = ${occurrence} and schedule_id = ${scheduleId} order by kind, n limit ${besideMax}`;
  const jobs: JobRead[] = [];
  for (const { kind, n } of keys) {
    const job = await readJob(tx, jobId({ scheduleId, occurrence, kind, n }));
    if (job !== null) jobs.push(job);
  }
  return {
    job: jobs.find(({ kind }) => kind === "cadence") ?? null,
    beside: jobs.filter(({ kind }) => kind !== "cadence"),
  };
}

/** The parcel in which each of these jobs waits, by the job's id. */
export async function travelsOf(tx: Tx, jobs: readonly JobKey[]): Promise<Map<string, TravelFact>> {
  const rows = await tx<(TravelFact & JobKey)[]>`
    select j.schedule_id as "scheduleId", j.occurrence, j.kind, j.n, p.lane is not null as "inLane", p.owed is true as owed, p.offers, p.queue,
      case when p.turn is not null or p.turn_at is not null and p.ready_at > carillon.clock() then t.name end as "atTarget",
      case when p.turn = 'waits' and t.per_team is not null and t.per_team <= (
        select sum(k.slots) from carillon.taken_places k where k.target_id = t.id and coalesce(k.team_id, 0) = coalesce(p.team_id, 0)) then t.per_team end as "teamFull",
      case when p.ready_at < 'infinity' then p.ready_at end as "startsAt"
    from unnest(${tx.array(jobs.map(({ occurrence }) => occurrence))}::timestamptz[], ${jobs.map(({ scheduleId }) => scheduleId)}::bigint[],
      ${jobs.map(({ kind }) => kind)}::text[]::carillon.job_kind[], ${jobs.map(({ n }) => n)}::int[]) k (occurrence, schedule_id, kind, n)
    cross join lateral (
      select * from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n offset 0) j
    join carillon.parcels p on p.id = j.parcel_id left join carillon.targets t on t.id = p.target_id`;
  return new Map(
    rows.map(({ scheduleId, occurrence, kind, n, ...travel }) => [
      jobId({ scheduleId, occurrence, kind, n }),
      travel,
    ]),
  );
}

/** How many ranges that end at or after an instant are searched for one that contains it. */
const rangesMax = 100;

/**
 * The range of passed-over occurrences that contains an instant, and the last one that ends before
 * it.
 */
export async function passedAround(
  tx: Tx,
  scheduleId: string,
  at: Date,
): Promise<{ passed: PassedFact | null; passedBefore: PassedFact | null }> {
  const columns = tx`from_at as "from", to_at as "to", case reason when 'unreadable' then null else count::int end as count, more, reason, noted_at as "notedAt"`;
  const [passed] = await tx<PassedFact[]>`
    select * from (
      select ${columns} from carillon.passed_over where schedule_id = ${scheduleId} and to_at >= ${at} order by to_at limit ${rangesMax}) later
    where "from" <= ${at} order by "to" limit 1`;
  const [passedBefore] = await tx<PassedFact[]>`
    select ${columns} from carillon.passed_over where schedule_id = ${scheduleId} and to_at < ${at} order by to_at desc limit 1`;
  return { passed: passed ?? null, passedBefore: passedBefore ?? null };
}

/**
 * How many of the schedule's occurrences leave the backlog before this one. Null if it is not in
 * the backlog.
 */
export async function owedBefore(tx: Tx, scheduleId: string, occurrence: Date): Promise<number | null> {
  const [row] = await tx<{ before: number }[]>`
    select array_position(occurrences, ${occurrence}::timestamptz, taken + 1) - taken - 1 as before from carillon.backlog
    where schedule_id = ${scheduleId} and next_occurrence <= ${occurrence} and kind = 'cadence'
      and ${occurrence} = any(occurrences[taken + 1 :]) limit 1`;
  return row?.before ?? null;
}

export interface Standing {
  now: Date;
  /** Everything that was due up to this time has been planned. */
  plannedUpTo: Date;
  /** Jobs before this may have been dropped. */
  keptFrom: Date;
  holds: Hold[];
}

export async function standingOf(tx: Tx, { id, shard }: SubjectRow): Promise<Standing> {
  const state = await readShard(tx, shard);
  const { now } = state;
  return {
    now,
    plannedUpTo: plannedUpTo(state, id),
    keptFrom: await keptFromOf(tx),
    holds: await holdsOfOne(tx, id),
  };
}

/** Jobs before this may have been dropped. */
export async function keptFromOf(tx: Tx): Promise<Date> {
  const [retention] = await tx<{ keptFrom: Date }[]>`select kept_from as "keptFrom" from carillon.retention`;
  if (retention === undefined) throw new Error("carillon.retention has no row.");
  return retention.keptFrom;
}

/** The limit of the coming runs. Null if the cadence cannot be read, or if the schedule is deleted. */
export async function limitOf(
  tx: Tx,
  { id, maxFires, deletedAt }: SubjectRow,
  now: Date,
): Promise<RunLimit | null> {
  if (maxFires === null || deletedAt !== null) return null;
  const [schedule] = await findSchedulesById(tx, [id]);
  if (schedule === undefined || unreadableReason(schedule.cadence) !== null) return null;
  return runLimitOf(tx, schedule, now);
}

/** No more outages than these are read: the first that fits is the cause. */
const outagesMax = 50;

/** The outages from an occurrence on until its job started, oldest first. */
export async function outagesSince(tx: Tx, from: Date, to: Date, most = outagesMax): Promise<Outage[]> {
  if (from > to) return [];
  const { items } = await readOutages(tx, { from, to, limit: most });
  return items.toReversed().map((each) => ({ what: each.what, from: each.from, to: each.to }));
}

/**
 * How many neighbours are read on each side: their outcome shows why an occurrence was late, passed
 * over or skipped.
 */
const before = 10;
const after = 12;

/** The cadence's jobs of the occurrences around a range of time, oldest first. */
export async function jobsAround(
  tx: Tx,
  scheduleId: string,
  cadence: Cadence,
  { from, to }: { from: number; to: number },
): Promise<JobRead[]> {
  const instants: number[] = [];
  let at = previousRunBefore(cadence, from);
  for (let n = 0; at !== null && n < before; n++, at = previousRunBefore(cadence, at)) instants.push(at);
  at = nextRunAfter(cadence, to);
  for (let n = 0; at !== null && n < after; n++, at = nextRunAfter(cadence, at)) instants.push(at);
  const keys = instants.map((instant) => ({ scheduleId, occurrence: new Date(instant) }));
  const jobs = await readJobsAt(tx, keys);
  return jobs.sort((a, b) => a.occurrence.getTime() - b.occurrence.getTime());
}
