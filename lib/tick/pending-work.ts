import type postgres from "postgres";
import { canaryKeys } from "../canary/canaries.ts";
import type { Sql, Tx } from "../db/connect.ts";
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
  | "answers"
  | "calendars"
  | "zones"
  | "aside";

export interface After {
  there: Record<Work, boolean>;
  /** Minutes since 1970. */
  minute: number;
}

/**
 * Most kinds of work have nothing to do in most minutes. One query of index lookups checks all of
 * them. Each part of the tick then reads its own rows, independent of this result. So a check here
 * may report work where there is none, but must never miss any.
 */
export async function pendingBeforeFiring(sql: Sql): Promise<Before> {
  const [found] = await sql<Before[]>`
    with clock as materialized (select carillon.clock() as now)
    select array(
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
  const [found] = await sql<(After["there"] & Pick<After, "minute">)[]>`
    with clock as materialized (select carillon.clock() as now)
    select floor(extract(epoch from ${now(sql)}) / 60)::float8 as minute,
      exists (select from carillon.lifecycle where events <> ${[...notify]}::text[]) as setting,
      ${canary !== null} or exists (
        select from carillon.schedules where key = any(${Object.values(canaryKeys)}::text[]) and deleted_at is null) as canaries,
      ${comes(sql, sql`select min(next_at) from carillon.quarantine where consumer = 'plan'`)} as plans,
      ${comes(sql, sql`select min(turn_at) from carillon.backlog`)} as backlog,
      ${parcels(sql)} as parcels,
      ${comes(sql, sql`select min(until) from carillon.holds`)} as holds,
      exists (select from carillon.wanted_holds) as "wantedHolds",
      exists (select from carillon.inbox)
        or ${comes(sql, sql`select min(refused_at) + make_interval(days => ${refusedKeptDays}::int) from carillon.inbox_refusals`)} as inbox,
      exists (select from carillon.shards where near_until < ${nearLine(sql, now(sql))}) as near,
      ${pastDays(sql, retentionDays)} as "pastDays",
      ${comes(sql, sql`select min(end_look_at) from carillon.schedules`)} as ended,
      exists (select from carillon.outbox where tries = 0) or ${comes(sql, sql`select min(offer_at) from carillon.outbox`)} as events,
      ${comes(sql, sql`select min(until) from carillon.shared_holds`)}
        or exists (select from carillon.shared_holds where reached is not null) as "sharedHolds",
      exists (select from carillon.targets where regrouped_at is not null) as handlers,
      exists (select from carillon.schedules where target_id is null) as targets,
      coalesce((select min(seen_on) from carillon.command_marks) < (${now(sql)} at time zone 'UTC')::date - ${rememberedDays}::int, false)
        or ${comes(sql, sql`select min(refused_at) + ${retentionDays} * interval '1 day' from carillon.dead_commands`)} as commands,
      ${comes(sql, sql`select look_at from carillon.cadence_round`)} as cadences,
      ${comes(sql, sql`select look_at from carillon.target_round`)} as "unusedTargets",
      ${comes(sql, sql`select min(created_at) + make_interval(hours => ${keptHours}) from carillon.idempotency`)} as answers,
      exists (select from carillon.calendars where replan_after is not null) as calendars,
      ${zones(sql, zoneData)} as zones,
      ${comes(sql, firstForgottenAt(sql))} as aside`;
  const { minute, ...there } = answered(found);
  return { there, minute };
}

function answered<Found>(found: Found | undefined): Found {
  if (found === undefined) throw new Error("A query without a condition returned no row.");
  return found;
}

const now = (tx: Tx) => tx`(select now from clock)`;

/**
 * Whether the earliest instant has come; false if there is none. The earliest is one index lookup.
 * For a plain condition "any is past", the planner estimates a third of the table and scans it from
 * the start: all of thirty million schedules if none is past.
 */
const comes = (tx: Tx, earliest: postgres.PendingQuery<postgres.Row[]>) =>
  tx`coalesce((${earliest}) <= ${now(tx)}, false)`;

/**
 * Whether there are parcels to offer, parcels whose lease may end before the next tick, parcels
 * that wait in lanes or at targets, or parcels that no worker could claim.
 */
const parcels = (tx: Tx) => tx`
  ${comes(tx, tx`select min(offer_at) from carillon.parcels where lane is null`)}
    or exists (select from carillon.parcels where lane is null and lease_until is not null
      and offer_at > ${now(tx)} and offer_at <= ${now(tx)} + ${watchedMs} * interval '1 millisecond')
    or ${comes(tx, tx`select min(offer_at) from carillon.parcels where lane is not null`)}
    or exists (select from carillon.parcels where turn = 'waits')
    or exists (select from carillon.quarantine where consumer = 'claim')`;

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
