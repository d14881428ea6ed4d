import type { Sql } from "../db/connect.ts";
import type { JobKey } from "../job/job-id.ts";
import { isAside, waitsAside } from "../quarantine/quarantine.ts";
import type { Tried } from "../quarantine/try-rows.ts";

/** The progress of the archive of one day. */
export interface DayProgress {
  day: string;
  fence: number;
  /** The last job that was archived; null before the first. */
  place: JobKey | null;
  parts: number;
  jobs: number;
  attempts: number;
  /** The highest number of parts that any archive of this day had. */
  partsMax: number;
}

interface ProgressRow extends Omit<DayProgress, "place"> {
  occurrence: Date | null;
  scheduleId: string | null;
  kind: JobKey["kind"] | null;
  n: number | null;
}

/**
 * Longer than an invocation may last, so a lease that has ended belongs to a dead invocation. Each
 * part renews it.
 */
const leaseMinutes = 16;

/** The most days that one run of the archive reads. */
const daysMax = 400;

/**
 * Days past the retention that have no open job and are not archived: the oldest first, but days
 * that failed before come last, so that slow failures do not hold up the others.
 */
export function daysToArchive(sql: Sql, retentionDays: number): PromiseLike<Tried[]> {
  const item = sql`p.day::text`;
  return sql<Tried[]>`
    select ${item} as item, ${isAside(sql, "archive", item)} as aside
    from carillon.past_days(${retentionDays} * interval '1 day') p
    where not p.to_look and not carillon.is_archived(p.day) and not ${waitsAside(sql, "archive", item)}
    order by aside, p.day limit ${daysMax}`;
}

/**
 * Takes a day that no archive has taken. Null if another archive has it, or has completed it since
 * the query for days. The archive resumes after the last saved part. If the day was written to
 * since the archive began, it begins again: the parts that exist are out of date.
 */
export async function takeDay(sql: Sql, day: string): Promise<DayProgress | null> {
  await sql`insert into carillon.archived_days (day) values (${day}::text::date) on conflict do nothing`;
  const [row] = await sql<ProgressRow[]>`
    with begun as (
      select a.day, a.begun_at is null or s.stirred as anew
      from carillon.archived_days a cross join lateral (
        select exists (
          select from carillon.stirred_days s where s.day = a.day and s.on_day >= (a.begun_at at time zone 'UTC')::date) as stirred) s
      where a.day = ${day}::text::date and (a.lease_until is null or a.lease_until <= carillon.clock())
        and (a.archived_at is null or s.stirred)
      for update of a
    )
    update carillon.archived_days a set fence = a.fence + 1, lease_until = carillon.clock() + ${leaseMinutes} * interval '1 minute', archived_at = null,
      parts_max = greatest(a.parts_max, a.parts), begun_at = case when b.anew then carillon.clock() else a.begun_at end,
      occurrence = case when not b.anew then a.occurrence end, schedule_id = case when not b.anew then a.schedule_id end,
      kind = case when not b.anew then a.kind end, n = case when not b.anew then a.n end,
      parts = case when b.anew then 0 else a.parts end, jobs = case when b.anew then 0 else a.jobs end,
      attempts = case when b.anew then 0 else a.attempts end
    from begun b where a.day = b.day
    returning a.day::text, a.fence, a.occurrence, a.schedule_id as "scheduleId", a.kind, a.n, a.parts, a.jobs::float8, a.attempts::float8,
      a.parts_max as "partsMax"`;
  if (row === undefined) return null;
  const { occurrence, scheduleId, kind, n, ...counts } = row;
  const isBegun = occurrence !== null && scheduleId !== null && kind !== null && n !== null;
  return { ...counts, place: isBegun ? { occurrence, scheduleId, kind, n } : null };
}

/** Saves the progress; false if another archive has taken the day. */
export async function savePart(
  sql: Sql,
  { day, fence, place, parts, jobs, attempts }: DayProgress,
): Promise<boolean> {
  const { count } = await sql`
    update carillon.archived_days set occurrence = ${place?.occurrence ?? null}, schedule_id = ${place?.scheduleId ?? null},
      kind = ${place?.kind ?? null}, n = ${place?.n ?? null}, parts = ${parts}, jobs = ${jobs}, attempts = ${attempts},
      lease_until = carillon.clock() + ${leaseMinutes} * interval '1 minute'
    where day = ${day}::text::date and fence = ${fence}`;
  return count === 1;
}

/** Marks the day as complete; false if another archive has taken it. */
export async function finishDay(sql: Sql, { day, fence }: DayProgress): Promise<boolean> {
  const { count } = await sql`
    update carillon.archived_days set archived_at = carillon.clock(), lease_until = null
    where day = ${day}::text::date and fence = ${fence}`;
  return count === 1;
}

/**
 * An archive that stops in the middle of a day gives up its lease, so that the next one resumes at
 * once.
 */
export async function leaveDay(sql: Sql, { day, fence }: DayProgress): Promise<void> {
  await sql`
    update carillon.archived_days set lease_until = null where day = ${day}::text::date and fence = ${fence} and archived_at is null`;
}
