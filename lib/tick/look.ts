import type postgres from "postgres";
import { canaryKeys } from "../canary/canaries.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { keptHours } from "../idempotency/kept-requests.ts";
import { refusedKeptDays } from "../inbox/refusals.ts";
import { rememberedDays } from "../ingest/understand.ts";
import { watchedMs } from "../parcel/sweep.ts";
import { horizonMs } from "../plan/shard.ts";
import { nearLine } from "./days.ts";
import type { TickSettings } from "./run.ts";

/** What there is to do before firing. */
export interface Before {
  near: boolean;
  setting: boolean;
  canaries: boolean;
  inbox: boolean;
  countedEmpty: boolean;
}

/** What there is to do after it. */
export type After = Record<
  | "plans"
  | "backlog"
  | "parcels"
  | "holds"
  | "wantedHolds"
  | "inbox"
  | "near"
  | "pastDays"
  | "ended"
  | "events"
  | "sharedHolds"
  | "handlers"
  | "targets"
  | "commands"
  | "answers"
  | "calendars"
  | "zones",
  boolean
>;

/**
 * Most of what a tick looks after is not there in most minutes. All of it is asked for in one query, of steps into indexes; what it finds
 * is then looked at by its own part of the tick, which asks again and knows nothing of this one. So a question here may say yes for
 * nothing, and must never say no where there is something.
 */
export async function lookBefore(sql: Sql, { notify, canary }: TickSettings): Promise<Before> {
  const [found] = await sql<Before[]>`
    with clock as materialized (select carillon.clock() as now)
    select exists (select from carillon.shards where near_until <= ${now(sql)} + ${horizonMs} * interval '1 millisecond') as near,
      exists (select from carillon.lifecycle where events <> ${[...notify]}::text[]) as setting,
      ${canary !== null} or exists (
        select from carillon.schedules where key = any(${Object.values(canaryKeys)}::text[]) and deleted_at is null) as canaries,
      exists (select from carillon.inbox) as inbox,
      exists (select from carillon.queues_counted_empty()) as "countedEmpty"`;
  return answered(found);
}

export async function lookAfter(sql: Sql, { retentionDays, zoneData }: TickSettings): Promise<After> {
  const [found] = await sql<After[]>`
    with clock as materialized (select carillon.clock() as now)
    select ${comes(sql, sql`select min(next_at) from carillon.quarantine where consumer = 'plan'`)} as plans,
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
      ${comes(sql, sql`select min(created_at) + make_interval(hours => ${keptHours}) from carillon.idempotency`)} as answers,
      exists (select from carillon.calendars where replan_after is not null) as calendars,
      ${zones(sql, zoneData)} as zones`;
  return answered(found);
}

function answered<Found>(found: Found | undefined): Found {
  if (found === undefined) throw new Error("A query without a condition has answered nothing.");
  return found;
}

const now = (tx: Tx) => tx`(select now from clock)`;

/**
 * Whether the earliest has come; none has where there is none. The earliest is one step into an index. Asked whether any is past, the planner takes
 * it that a third of a table is, and reads it from its beginning: all of thirty million schedules, where none is.
 */
const comes = (tx: Tx, earliest: postgres.PendingQuery<postgres.Row[]>) =>
  tx`coalesce((${earliest}) <= ${now(tx)}, false)`;

/** Those that travel: due to be offered, or under a lease that is watched; those that wait in lanes; those that wait at targets. */
const parcels = (tx: Tx) => tx`
  ${comes(tx, tx`select min(offer_at) from carillon.parcels where lane is null`)}
    or exists (select from carillon.parcels where lane is null and lease_until is not null
      and offer_at > ${now(tx)} and offer_at <= ${now(tx)} + ${watchedMs} * interval '1 millisecond')
    or ${comes(tx, tx`select min(offer_at) from carillon.parcels where lane is not null`)}
    or exists (select from carillon.parcels where turn = 'waits')`;

/** Days of jobs that are past the retention, whether or not they can go; days of the plan that all watermarks have left by a day. */
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

/** Not where the release in force is the runtime's own, and nothing is under way. */
const zones = (tx: Tx, runtime: string | null) => tx`
  ${runtime}::text is not null and not exists (
    select from (select version, replan_after, look_again_at from carillon.zone_updates order by id desc limit 1) latest
    where version = ${runtime} and replan_after is null and coalesce(look_again_at > ${now(tx)}, true))`;
