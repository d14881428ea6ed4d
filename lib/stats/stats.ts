import type { Tx } from "../db/connect.ts";
import { countEnded, type Ended } from "./ended.ts";
import { type Freshness, freshTallies, readFreshness } from "./fresh-tallies.ts";
import { type Lateness, type LatenessBucket, summarize } from "./lateness.ts";
import type { Endings } from "./outcomes.ts";
import { readStanding, type Standing } from "./standing.ts";

/** Counts from the beginning of a minute (`from`) until now. */
export interface Counts extends Endings {
  from: Date;
  fired: number;
  lateness: Lateness;
  pulses: Pulses;
}

/** Pulses: taken by their targets, and given up; and how late they were taken. */
export interface Pulses extends Omit<Lateness, "jobs"> {
  taken: number;
  lost: number;
}

export interface Stats {
  /** `paused` are held; `ended` may be an estimate, which is `endedWithin` off at most. */
  schedules: { total: number; active: number; paused: number; ended: number; endedWithin: number };
  standing: Standing;
  freshness: Freshness;
  /** The last five full minutes and the running one. */
  lastMinutes: Counts;
  lastHour: Counts;
  lastDay: Counts;
}

const minuteMs = 60_000;
export const lastMinutes = 5;
export const hourMinutes = 60;
const dayMinutes = 1_440;

/**
 * All numbers come from rows that were rolled up, from the few that are not yet, and from tables of
 * open work.
 */
export async function readStats(sql: Tx): Promise<Stats> {
  const standing = await readStanding(sql);
  const [kept, ended, freshness, minutes, lastHour, lastDay] = await Promise.all([
    readSchedules(sql),
    countEnded(sql),
    readFreshness(sql),
    readCounts(sql, minutesBefore(standing.now, lastMinutes)),
    readCounts(sql, minutesBefore(standing.now, hourMinutes)),
    readCounts(sql, minutesBefore(standing.now, dayMinutes)),
  ]);
  return {
    schedules: withEnded(kept, ended),
    standing,
    freshness,
    lastMinutes: minutes,
    lastHour,
    lastDay,
  };
}

type Kept = Pick<Stats["schedules"], "total" | "paused">;

function withEnded({ total, paused }: Kept, { count, within }: Ended): Stats["schedules"] {
  const ended = Math.min(count, Math.max(0, total - paused));
  return { total, active: Math.max(0, total - paused - ended), paused, ended, endedWithin: within };
}

export function minutesBefore(now: Date, minutes: number): Date {
  return new Date((Math.floor(now.getTime() / minuteMs) - minutes) * minuteMs);
}

/**
 * The most schedules with an ended hold that are counted one by one: those that the tick has not
 * cleared yet.
 */
const endedMax = 200_000;

/**
 * One statement, so that a row is either among the tallies or in the sum, never in both and never
 * in neither. A schedule whose hold has ended counts as active at once, although its row stays
 * held until the tick has cleared it. A difference that was written by hand may bring the sum below
 * zero. No constraint refuses that: a schedule's end may be rolled up before its beginning.
 */
async function readSchedules(sql: Tx): Promise<Kept> {
  const [row] = await sql<{ total: number; paused: number }[]>`
    select greatest(c.schedules + t.schedules, 0)::float8 as total, greatest(c.held + t.held - e.ended, 0)::float8 as paused
    from carillon.schedule_counts c
    cross join (select coalesce(sum(schedules), 0) as schedules, coalesce(sum(held), 0) as held from carillon.schedule_tallies) t
    cross join (${endedHolds(sql)}) e`;
  if (row === undefined) throw new Error("carillon.schedule_counts has no row.");
  return row;
}

/** The number of schedules that are held in their rows, and whose hold has ended. */
const endedHolds = (sql: Tx) => sql`
  select count(*) as ended from (
    select from carillon.schedules where deleted_at is null and held_until <= (select carillon.clock()) limit ${endedMax}) s`;

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
    with fresh as materialized (select * from (${freshTallies(sql)}) f where at >= ${from}),
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
