import type { Sql, Tx } from "../db/connect.ts";
import { lockTeams } from "../db/locks.ts";
import { addTeams } from "../edit/edit-transaction.ts";
import { jobId } from "../job/job-id.ts";
import { type JobRead, readJob } from "../job/read-job.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { OutgoingParcel, ParcelQueue } from "../parcel/parcel-queue.ts";
import { noteUsage } from "../quota/note-usage.ts";
import { type QuotaStart, quotaCheck, TeamNotLocked } from "../quota/quota-check.ts";
import { readTeamState } from "../quota/team-list.ts";
import { isNone, noUsage, payloadBytesOf, type Usage } from "../quota/usage.ts";
import { Refusal } from "../refusal.ts";
import { awayRefusal } from "../schedule/moved-away.ts";
import { type Caller, originText } from "../schedule/shape/caller.ts";
import type { Json } from "../schedule/shape/json.ts";
import { unreadConflict, versionsFaultOf } from "../schedule/stored/versions-fault.ts";

export interface FireNowParams {
  key: string;
  /** Replaces the payload of the schedule. */
  payload?: Json | undefined;
  caller: Caller;
}

/** Creates a job beside the cadence, due at once, also while the schedule is held. */
export async function fireNow(
  { sql, queue }: { sql: Sql; queue: ParcelQueue },
  params: FireNowParams,
): Promise<JobRead> {
  const { job, parcel } = await fireAgainLocked(sql, params);
  await handOver(sql, queue, [parcel]);
  return job;
}

async function fireAgainLocked(sql: Sql, params: FireNowParams): ReturnType<typeof fireOnce> {
  const teams = new Set<string>();
  for (;;) {
    try {
      return await sql.begin((tx) => fireOnce(tx, params, teams));
    } catch (error) {
      if (!(error instanceof TeamNotLocked)) throw error;
      addTeams(teams, error);
    }
  }
}

/**
 * Only the row of the schedule is locked, and before it the teams of which the payload may use up a
 * quota. A concurrent delete either waits, and the claim then finds the schedule deleted; or it is
 * first, and there is no schedule to fire. Concurrent fires of one schedule wait for each other, so
 * each gets its own number.
 */
export async function fireOnce(
  tx: Tx,
  params: FireNowParams,
  teams: ReadonlySet<string> = new Set(),
): Promise<{ job: JobRead; parcel: OutgoingParcel }> {
  const change = { ...noUsage, writtenBytes: payloadBytesOf(params.payload) };
  await lockTeams(tx, teams);
  const [schedule, state] = await Promise.all([
    lockToFire(tx, params.key),
    isNone(change) ? null : readTeamState(tx),
  ]);
  const teamId = state === null ? null : await takeRoom(tx, params, change, { state, locked: teams });
  const [clock] = await tx<{ now: Date }[]>`
    select now, carillon.attach_missing_days(array[now]) from (select carillon.clock() as now) clock`;
  if (clock === undefined) throw new Error("The database did not return the time.");
  // Both are sent before either answer is awaited.
  const [{ parcel, n }] = await Promise.all([
    makeJob(tx, schedule, clock.now, params.payload),
    noteUsage(tx, [{ teamId, scheduleId: schedule.id, change }]),
  ]);
  const id = jobId({ scheduleId: schedule.id, occurrence: clock.now, kind: "manual", n });
  await tx`
    insert into carillon.audit (at, actor, action, subject, schedule_id, version, detail, origin)
    values (${clock.now}, ${params.caller.name}, 'schedule.fired', ${params.key}, ${schedule.id}, ${schedule.version},
      ${JSON.stringify({ jobs: 1, job: id })}::text::jsonb, ${originText(params.caller)}::text::jsonb)`;
  const job = await readJob(tx, id);
  if (job === null) throw new Error(`The job ${id} has no row right after its insert.`);
  return { job, parcel };
}

async function lockToFire(tx: Tx, key: string): Promise<{ id: string; version: number }> {
  const [schedule] = await tx<{ id: string; version: number }[]>`
    select id, version from carillon.schedules where key = ${key} and deleted_at is null for no key update`;
  if (schedule === undefined) throw await nothingToFire(tx, key);
  const fault = await versionsFaultOf(tx, schedule.id);
  if (fault !== null) throw unreadConflict(fault);
  return schedule;
}

/** Takes the change from the room of the team, which is that of the key. */
async function takeRoom(
  tx: Tx,
  { key, caller }: FireNowParams,
  change: Usage,
  start: QuotaStart,
): Promise<number | null> {
  const quota = quotaCheck(tx, start);
  const prefix = caller.reach?.team ?? "";
  await quota.take(key, change, prefix);
  return (await quota.teamOf(key, prefix))?.id ?? null;
}

async function nothingToFire(tx: Tx, key: string): Promise<Refusal> {
  const away = await awayRefusal(tx, key);
  if (away !== null) return away;
  const [gone] =
    await tx`select from carillon.schedules where key = ${key} and deleted_at is not null limit 1`;
  return gone === undefined
    ? new Refusal("missing", `There is no schedule ${JSON.stringify(key)}.`)
    : new Refusal("conflict", `The schedule ${JSON.stringify(key)} has been deleted.`);
}

async function makeJob(
  tx: Tx,
  { id, version }: { id: string; version: number },
  now: Date,
  payload: Json | undefined,
): Promise<{ parcel: OutgoingParcel; n: number }> {
  const [made] = await tx<(OutgoingParcel & { n: number })[]>`
    with numbered as materialized (
      select coalesce(max(n) + 1, 0) as n from carillon.jobs where occurrence = ${now} and schedule_id = ${id} and kind = 'manual'
    ), parcel as (
      insert into carillon.parcels (shard, queue, ready_at, offer_at, target_id, priority, team_id, occurrences, schedule_ids, kinds, ns)
      select s.shard, s.queue, ${now}, ${now}::timestamptz + interval '20 seconds', carillon.apart_target(s.queue, s.target_id), s.priority, s.team_id, array[${now}::timestamptz], array[s.id],
        array['manual'::carillon.job_kind], array[numbered.n]
      from carillon.schedules s, numbered where s.id = ${id}
      returning id, queue, shard, team_id
    ), job as (
      insert into carillon.jobs (occurrence, schedule_id, kind, n, due_at, parcel_id, version, payload, shard)
      select ${now}, ${id}, 'manual', numbered.n, ${now}, parcel.id, ${version}, ${payload === undefined ? null : JSON.stringify(payload)}::text::jsonb, parcel.shard
      from numbered, parcel
    ), in_lane as (
      insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n)
      select s.lane, ${now}, ${now}, s.id, 'manual', numbered.n from carillon.schedules s, numbered where s.id = ${id} and s.lane is not null
    ), beside as (
      insert into carillon.jobs_beside (occurrence, schedule_id, kind, n, shard) select ${now}, ${id}, 'manual', n, shard from numbered, parcel
    )
    select parcel.id, parcel.queue, 0::float8 as "waitMs", carillon.message_group(parcel.team_id, parcel.id) as group, numbered.n
    from parcel, numbered, carillon.note_jobs_of_pulse(${id})`;
  if (made === undefined) throw new Error(`The locked schedule ${id} has no row.`);
  const { n, ...parcel } = made;
  return { parcel, n };
}
