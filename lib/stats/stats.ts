import type { Tx } from "../db/connect.ts";
import { type Lateness, type LatenessBucket, summarize } from "./lateness.ts";
import { readStanding, type Standing } from "./standing.ts";

/** Counts from the beginning of a minute (`from`) until now. */
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

/** Pulses: taken by their targets, and given up; and how late they were taken. */
export interface Pulses extends Omit<Lateness, "jobs"> {
  taken: number;
  lost: number;
}

export interface Stats {
  /** `paused` are held. Schedules that have ended and are still kept count as active. */
  schedules: { total: number; active: number; paused: number };
  standing: Standing;
  lastHour: Counts;
  lastDay: Counts;
}

const minuteMs = 60_000;
const hourMinutes = 60;
const dayMinutes = 1_440;

/**
 * All numbers come from rows that were rolled up, from the few that are not yet, and from tables of
 * open work.
 */
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

/**
 * One statement, so that a row is either among the tallies or in the sum, never in both and never
 * in neither. A difference that was written by hand may bring the sum below zero. No constraint
 * refuses that: a schedule's end may be rolled up before its beginning.
 */
async function readSchedules(sql: Tx): Promise<Stats["schedules"]> {
  const [row] = await sql<{ total: number; paused: number }[]>`
    select greatest(c.schedules + t.schedules, 0)::float8 as total, greatest(c.held + t.held, 0)::float8 as paused
    from carillon.schedule_counts c
    cross join (select coalesce(sum(schedules), 0) as schedules, coalesce(sum(held), 0) as held from carillon.schedule_tallies) t`;
  if (row === undefined) throw new Error("carillon.schedule_counts has no row.");
  const { total, paused } = row;
  return { total, active: Math.max(0, total - paused), paused };
}

interface CountsRow extends Omit<Counts, "from" | "lateness" | "pulses">, Pick<Pulses, "taken" | "lost"> {
  buckets: LatenessBucket[];
  pulseBuckets: LatenessBucket[];
}

/**
 * A sum may be negative, and is shown as zero: a job may have been counted before this time and
 * withdrawn within it, and a row written by hand may have any number.
 */
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
    select ${total(sql, "fired")}, ${total(sql, "succeeded")}, ${total(sql, "failed")}, ${total(sql, "dead")}, ${total(sql, "cancelled")},
      ${total(sql, "skipped")}, ${total(sql, "missed")}, ${total(sql, "pulses", "taken")}, ${total(sql, "pulses_lost", "lost")},
      (select coalesce(jsonb_agg(jsonb_build_object('bucket', bucket, 'jobs', jobs)), '[]') from late) as buckets,
      (select coalesce(jsonb_agg(jsonb_build_object('bucket', bucket, 'jobs', jobs)), '[]') from pulses_late) as "pulseBuckets"
    from happened`;
  if (row === undefined) throw new Error("An aggregate without a row.");
  const { buckets, pulseBuckets, taken, lost, ...counts } = row;
  const { jobs: _, ...late } = summarize(pulseBuckets);
  return { from, ...counts, lateness: summarize(buckets), pulses: { taken, lost, ...late } };
}

const total = (sql: Tx, column: string, name = column) =>
  sql`greatest(coalesce(sum(${sql(column)}), 0), 0)::float8 as ${sql(name)}`;
