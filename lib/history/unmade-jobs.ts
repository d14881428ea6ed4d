import type { Tx } from "../db/connect.ts";
import type { JobRead } from "../job/read-job.ts";
import { readShards } from "../plan/shard.ts";
import { accessFor, type KeyRange, keysBehind, walked } from "../schedule/filter-schedules.ts";
import { findScheduleById, findSchedulesById } from "../schedule/stored/stored-schedule.ts";
import { isOwner, type JobOwners } from "./find-schedules.ts";
import { isJob, jobToCome, plannedJob } from "./planned-job.ts";

/**
 * Restricts schedules `s` to those that run once and delete themselves, and whose job has no row in
 * `jobs`.
 */
const ofUnmade = (tx: Tx) => tx`
  cross join lateral (
    select v.once_at from carillon.schedule_versions v
    where v.schedule_id = s.id and v.version = s.spec_version and v.once_at is not null and v.body @> '{"deleteOnEnd": true}' offset 0) v
  where not exists (
    select from carillon.jobs j where j.occurrence = v.once_at and j.schedule_id = s.id and j.kind = 'cadence' and j.n = 0 offset 0)`;

/**
 * The job of a schedule that runs once and deletes itself (`isJob`), if the job has no row: no tick
 * has made it yet, or it was cancelled before one did.
 */
export async function unmadeJob(tx: Tx, scheduleId: string): Promise<JobRead | null> {
  const [row] = await tx`select from carillon.schedules s ${ofUnmade(tx)} and s.id = ${scheduleId}`;
  const schedule = row === undefined ? null : await findScheduleById(tx, scheduleId);
  return schedule === null || !isJob(schedule) ? null : plannedJob(tx, schedule);
}

/**
 * The coming jobs without a row, of those schedules that run once and delete themselves (`isJob`).
 */
export async function jobsToCome(tx: Tx, scheduleIds: readonly string[]): Promise<JobRead[]> {
  if (scheduleIds.length === 0) return [];
  // `offset 0`: without statistics the planner would read an index of all live schedules.
  const rows = await tx<{ id: string }[]>`
    select s.id from (select * from carillon.schedules where id = any(${[...scheduleIds]}::bigint[]) offset 0) s
    ${ofUnmade(tx)} and s.deleted_at is null`;
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const [stored, shards] = await Promise.all([findSchedulesById(tx, ids), readShards(tx)]);
  return stored.flatMap((schedule) => {
    const state = shards.get(schedule.shard);
    const job = state === undefined || !isJob(schedule) ? null : jobToCome(schedule, state);
    return job === null ? [] : [job];
  });
}

export interface UnmadeLook {
  found: { id: string; key: string; occurrence: Date }[];
  /** The last key checked; null if nothing follows. */
  last: string | null;
}

/** Checks the next schedules of these owners, by key, for jobs without a row. */
export async function lookForUnmade(
  tx: Tx,
  owners: JobOwners,
  { after, looked }: { after?: string | undefined; looked: number },
): Promise<UnmadeLook> {
  const { key, ...named } = owners;
  const range = key === undefined ? keysBehind(after, named.prefix) : only(key);
  if (range === null) return { found: [], last: null };
  const access = key === undefined ? await accessFor(tx, named) : ({ by: "key" } as const);
  const rows = await tx<
    { looked: number; last: string | null; id: string | null; key: string | null; occurrence: Date | null }[]
  >`
    with looked as materialized (${walked(tx, access, range, looked)}),
    found as (select s.id, s.key, v.once_at from looked s ${ofUnmade(tx)} and ${isOwner(tx, owners)})
    select e.looked, e.last, f.id, f.key, f.once_at as occurrence
    from (select count(*)::int as looked, max(key) as last from looked) e left join found f on true order by f.key`;
  const [first] = rows;
  return {
    found: rows.flatMap(({ id, key, occurrence }) =>
      id === null || key === null || occurrence === null ? [] : [{ id, key, occurrence }],
    ),
    last: first === undefined || first.looked < looked ? null : first.last,
  };
}

/** The range of one key: no character of a key sorts before a blank. */
const only = (key: string): KeyRange => ({ from: key, inclusive: true, to: `${key} ` });
