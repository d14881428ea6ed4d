import type postgres from "postgres";
import { canaryKeys } from "../canary/canaries.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { keptPlan } from "../db/statement.ts";
import { keptHours } from "../idempotency/kept-requests.ts";
import { refusedKeptDays } from "../inbox/refusals.ts";
import { rememberedDays } from "../ingest/understand.ts";
import { watchedMs } from "../parcel/sweep.ts";
import { horizonMs } from "../plan/shard.ts";
import { firstForgottenAt } from "../quarantine/quarantine.ts";
import { nearLine } from "./days.ts";
import type { TickSettings } from "./run.ts";

/** Result of the check before firing. */
export interface Before {
  /** When the tick began; null if the database did not answer. */
  now: Date | null;
  /**
   * Shards that cannot be fired yet: their near line is before the horizon, or days that firing
   * writes to are not attached.
   */
  behind: readonly number[];
  /** Shards of `behind` whose near line is on a past day. */
  past: readonly number[];
  countedEmpty: boolean;
}

/** Kinds of work that a tick may have after firing. */
export type Work =
  | "setting"
  | "canaries"
  | "inbox"
  | "plans"
  | "backlog"
  | "parcels"
  | "holds"
  | "wantedHolds"
  | "near"
  | "pastDays"
  | "ended"
  | "events"
  | "sharedHolds"
  | "handlers"
  | "targets"
  | "commands"
  | "cadences"
  | "unusedTargets"
  | "pulseTargets"
  | "answers"
  | "calendars"
  | "zones"
  | "aside"
  | "teams"
  | "usage";

/** For each kind of work, the earliest moment at which there is some; null if none is known. */
export type DueWork = Readonly<Record<Work, Date | null>>;

export interface After {
  due: DueWork;
  now: Date;
}

export const isDue = ({ due, now }: After, work: Work): boolean => {
  const at = due[work];
  return at !== null && at <= now;
};

/**
 * Most kinds of work have nothing to do in most minutes. One query of index lookups checks all of
 * them. Each part of the tick then reads its own rows, independent of this result. So a check here
 * may report work where there is none, but must never miss any.
 */
export async function pendingBeforeFiring(sql: Sql): Promise<Before> {
  const [found] = await sql<Before[]>`
    with clock as materialized (select carillon.clock() as now)
    select ${now(sql)} as now,
      array(
        select id from carillon.shards s
        where near_until <= ${now(sql)} + ${horizonMs} * interval '1 millisecond' or ${daysMissing(sql)}) as behind,
      array(
        select id from carillon.shards where near_until < (${now(sql)} at time zone 'UTC')::date::timestamp at time zone 'UTC') as past,
      exists (select from carillon.queues_counted_empty()) as "countedEmpty"`;
  return answered(found);
}

export async function pendingAfterFiring(
  sql: Sql,
  { retentionDays, zoneData, notify, canary }: TickSettings,
): Promise<After> {
  const [found] = await keptPlan(sql<(DueWork & Pick<After, "now">)[]>`
    with clock as materialized (select carillon.clock() as now)
    select ${now(sql)} as now,
      ${atOnceIf(sql, sql`exists (select from carillon.lifecycle where events <> ${[...notify]}::text[])`)} as setting,
      ${atOnceIf(
        sql,
        sql`${canary !== null} or exists (
          select from carillon.schedules where key = any(${Object.values(canaryKeys)}::text[]) and deleted_at is null)`,
      )} as canaries,
      (select min(next_at) from carillon.quarantine where consumer = 'plan') as plans,
      (select min(turn_at) from carillon.backlog) as backlog,
      ${parcels(sql)} as parcels,
      (select min(until) from carillon.holds) as holds,
      ${atOnceIf(sql, sql`exists (select from carillon.wanted_holds)`)} as "wantedHolds",
      least(${atOnceIf(sql, sql`exists (select from carillon.inbox)`)},
        (select min(refused_at) + make_interval(days => ${refusedKeptDays}::int) from carillon.inbox_refusals)) as inbox,
      ${atOnceIf(sql, sql`exists (select from carillon.shards where near_until < ${nearLine(sql, now(sql))})`)} as near,
      ${atOnceIf(sql, pastDays(sql, retentionDays))} as "pastDays",
      (select min(end_look_at) from carillon.schedules) as ended,
      least(${atOnceIf(sql, sql`exists (select from carillon.outbox where tries = 0)`)}, (select min(offer_at) from carillon.outbox)) as events,
      least((select min(until) from carillon.shared_holds),
        ${atOnceIf(sql, sql`exists (select from carillon.shared_holds where reached is not null)`)}) as "sharedHolds",
      ${atOnceIf(sql, sql`exists (select from carillon.targets where regrouped_at is not null)`)} as handlers,
      ${atOnceIf(sql, sql`exists (select from carillon.schedules where target_id is null)`)} as targets,
      least(
        ${atOnceIf(sql, sql`(select min(seen_on) from carillon.command_marks) < (${now(sql)} at time zone 'UTC')::date - ${rememberedDays}::int`)},
        (select min(refused_at) + ${retentionDays} * interval '1 day' from carillon.dead_commands)) as commands,
      (select look_at from carillon.cadence_round) as cadences,
      (select look_at from carillon.target_round) as "unusedTargets",
      (select look_at from carillon.pulse_target_round) as "pulseTargets",
      (select min(created_at) + make_interval(hours => ${keptHours}) from carillon.idempotency) as answers,
      ${atOnceIf(sql, sql`exists (select from carillon.calendars where replan_after is not null)`)} as calendars,
      ${atOnceIf(sql, zones(sql, zoneData))} as zones,
      ${firstForgottenAt(sql)} as aside,
      (select min(created_at) + interval '1 minute' from carillon.teams where assigned_at is null) as teams,
      (select min(l.counted_at) + interval '10 minutes' from carillon.team_list l where exists (select from carillon.teams)) as usage`);
  const { now: at, ...due } = answered(found);
  return { due, now: at };
}

function answered<Found>(found: Found | undefined): Found {
  if (found === undefined) throw new Error("A query without a condition returned no row.");
  return found;
}

const now = (tx: Tx) => tx`(select now from clock)`;

const atOnceIf = (tx: Tx, condition: postgres.PendingQuery<postgres.Row[]>) =>
  tx`case when ${condition} then ${now(tx)} end`;

/**
 * The first moment at which there are parcels to offer, or one whose lease may end before the next
 * tick; at once if parcels wait for a turn at a target, or no worker could claim one.
 *
 * The earliest is one index lookup. For a plain condition "any is past", the planner estimates a
 * third of the table and scans it from the start: all of thirty million rows if none is past.
 */
const parcels = (tx: Tx) => tx`
  least(
    (select min(offer_at) from carillon.parcels where lane is null),
    (select min(offer_at) from carillon.parcels where lane is not null),
    ${atOnceIf(
      tx,
      tx`exists (select from carillon.parcels where lane is null and lease_until is not null
          and offer_at > ${now(tx)} and offer_at <= ${now(tx)} + ${watchedMs} * interval '1 millisecond')
        or exists (select from carillon.parcels where turn = 'waits')
        or exists (select from carillon.quarantine where consumer = 'claim')`,
    )})`;

/**
 * Whether a day is not attached that firing the shard may write to: from a day before the
 * watermark, because a due time may belong to an earlier occurrence, to the horizon.
 */
const daysMissing = (tx: Tx) => tx`
  exists (
    select from generate_series((least(s.watermark_at, ${now(tx)}) at time zone 'UTC')::date - 1,
      ((${now(tx)} + ${horizonMs} * interval '1 millisecond') at time zone 'UTC')::date, interval '1 day') day
    where to_regclass('carillon.jobs_' || to_char(day, 'YYYYMMDD')) is null
      or to_regclass('carillon.plan_' || to_char(day, 'YYYYMMDD')) is null)`;

/**
 * Whether there are days of jobs past the retention, droppable or not, or days of the plan that all
 * watermarks passed more than a day ago.
 */
const pastDays = (tx: Tx, retentionDays: number) => tx`
  exists (
    select from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'carillon.jobs'::regclass
      and right(c.relname, 8) < to_char((${now(tx)} - ${retentionDays} * interval '1 day') at time zone 'UTC', 'YYYYMMDD'))
    or exists (
    select from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'carillon.plan'::regclass
      and right(c.relname, 8) < to_char((
        select least(${now(tx)}, min(least(watermark_at, near_until))) - interval '1 day' from carillon.shards) at time zone 'UTC', 'YYYYMMDD'))`;

/**
 * Whether zone data has to be recorded or schedules to be replanned: false if the release in force
 * is the runtime's own and no round is under way.
 */
const zones = (tx: Tx, runtime: string | null) => tx`
  ${runtime}::text is not null and not exists (
    select from (select version, replan_after, look_again_at from carillon.zone_updates order by id desc limit 1) latest
    where version = ${runtime} and replan_after is null and coalesce(look_again_at > ${now(tx)}, true))`;
