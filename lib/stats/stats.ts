import type { Tx } from "../db/connect.ts";
import { type Lateness, type LatenessBucket, summarize } from "./lateness.ts";
import { readStanding, type Standing } from "./standing.ts";

/** What happened from a full minute on until now. */
export interface Counts {
  from: Date;
  fired: number;
  succeeded: number;
  failed: number;
  dead: number;
  cancelled: number;
  skipped: number;
  missed: number;
  lateness: Lateness;
  pulses: Pulses;
}

/** Those that leave no job: taken by their targets, and given up; and how late they were taken. */
export interface Pulses extends Omit<Lateness, "jobs"> {
  taken: number;
  lost: number;
}

export interface Stats {
  /** Held ones are paused; those that have ended and are still kept count as active. */
  schedules: { total: number; active: number; paused: number };
  standing: Standing;
  lastHour: Counts;
  lastDay: Counts;
}

const minuteMs = 60_000;
const hourMinutes = 60;
const dayMinutes = 1_440;

/** Everything comes from rows that were rolled up, from the few that are not yet, and from tables of open work. */
export async function readStats(sql: Tx): Promise<Stats> {
  const standing = await readStanding(sql);
  const [schedules, lastHour, lastDay] = await Promise.all([
    readSchedules(sql),
    readCounts(sql, minutesBefore(standing.now, hourMinutes)),
    readCounts(sql, minutesBefore(standing.now, dayMinutes)),
  ]);
  return { schedules, standing, lastHour, lastDay };
}

function minutesBefore(now: Date, minutes: number): Date {
  return new Date((Math.floor(now.getTime() / minuteMs) - minutes) * minuteMs);
}

/** One statement: a row is seen among those that wait to be rolled up or in the sum, never in both and never in neither. */
async function readSchedules(sql: Tx): Promise<Stats["schedules"]> {
  const [row] = await sql<{ total: number; paused: number }[]>`
    select (c.schedules + t.schedules)::float8 as total, (c.held + t.held)::float8 as paused
    from carillon.schedule_counts c
    cross join (select coalesce(sum(schedules), 0) as schedules, coalesce(sum(held), 0) as held from carillon.schedule_tallies) t`;
  if (row === undefined) throw new Error("carillon.schedule_counts has no row.");
  const { total, paused } = row;
  return { total, active: total - paused, paused };
}

interface CountsRow extends Omit<Counts, "from" | "lateness" | "pulses">, Pick<Pulses, "taken" | "lost"> {
  buckets: LatenessBucket[];
  pulseBuckets: LatenessBucket[];
}

/** A job may have been counted before this time and withdrawn in it: there is no less than nothing. */
async function readCounts(sql: Tx, from: Date): Promise<Counts> {
  const [row] = await sql<CountsRow[]>`
    with fresh as materialized (select * from carillon.tallies where at >= ${from}),
    happened as (
      select fired, succeeded, failed, dead, cancelled, skipped, missed, pulses, pulses_lost from carillon.minutes where minute >= ${from}
      union all
      select fired, succeeded, failed, dead, cancelled, skipped, missed, pulses, pulses_lost from fresh
    ), late as (
      select bucket, sum(jobs) as jobs from (
        select bucket, jobs from carillon.minute_lateness where minute >= ${from}
        union all
        select l.bucket, l.jobs from fresh f cross join lateral unnest(f.late_buckets, f.late_jobs) l (bucket, jobs)) l group by bucket
    ), pulses_late as (
      select bucket, sum(pulses) as jobs from (
        select bucket, pulses from carillon.minute_pulse_lateness where minute >= ${from}
        union all
        select l.bucket, l.pulses from fresh f cross join lateral unnest(f.pulse_buckets, f.pulse_counts) l (bucket, pulses)) l group by bucket
    )
    select greatest(coalesce(sum(fired), 0), 0)::float8 as fired, coalesce(sum(succeeded), 0)::float8 as succeeded,
      coalesce(sum(failed), 0)::float8 as failed, coalesce(sum(dead), 0)::float8 as dead,
      coalesce(sum(cancelled), 0)::float8 as cancelled, greatest(coalesce(sum(skipped), 0), 0)::float8 as skipped,
      coalesce(sum(missed), 0)::float8 as missed,
      coalesce(sum(pulses), 0)::float8 as taken, coalesce(sum(pulses_lost), 0)::float8 as lost,
      (select coalesce(jsonb_agg(jsonb_build_object('bucket', bucket, 'jobs', jobs)), '[]') from late) as buckets,
      (select coalesce(jsonb_agg(jsonb_build_object('bucket', bucket, 'jobs', jobs)), '[]') from pulses_late) as "pulseBuckets"
    from happened`;
  if (row === undefined) throw new Error("An aggregate without a row.");
  const { buckets, pulseBuckets, taken, lost, ...counts } = row;
  const { jobs: _, ...late } = summarize(pulseBuckets);
  return { from, ...counts, lateness: summarize(buckets), pulses: { taken, lost, ...late } };
}
