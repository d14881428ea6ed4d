import type { Tx } from "../../db/connect.ts";
import { isOutermost } from "../../db/instants.ts";
import { readableEnd, readableStart } from "../../db/readable-instants.ts";
import { keptPlan } from "../../db/statement.ts";
import {
  type CalendarRef,
  cadenceColumns,
  calendarOf,
  rulesOnce,
  withSharedRules,
} from "./cadence-columns.ts";
import { type SpecColumns, type StoredSpec, specOf } from "./stored-spec.ts";
import { type VersionColumns, versionColumns, versionsFault } from "./versions-fault.ts";

/**
 * The quarantine's detail of a schedule that could not be planned: the occurrence from which
 * planning continues.
 */
export interface PlanAside {
  [name: string]: string | number | null;
  version: number;
  occurrence: string;
  dueAt: string;
  /**
   * For occurrences under a hold that has ended by itself: the start of the hold, which lasted
   * until `dueAt`.
   */
  heldSince: string | null;
  /** The occurrence after that hold, if it was passed over too. */
  next: string | null;
  /**
   * The ledger lacks the occurrences that were passed over under that hold: the cadence could not
   * be read when the hold was removed.
   */
  ledger?: "behind";
  /**
   * Names of far rows that were passed over and may still be in their table; the retry removes
   * them.
   */
  far?: string;
}

/** A schedule from the database: its head and the spec of its current version. */
export interface StoredSchedule extends StoredSpec {
  id: string;
  key: string;
  shard: number;
  version: number;
  /**
   * The highest version number among the schedule's rows in carillon.schedule_versions. It is above
   * `version` if the tables were restored to different moments.
   */
  lastVersion: number;
  /**
   * Why the head and the version rows are of different moments; null if they match. `unread` then
   * has this reason too.
   */
  versionsFault: string | null;
  specVersion: number;
  heldSince: Date | null;
  /** The time at which the last hold ends by itself. */
  heldUntil: Date | null;
  /** The cadence jobs made so far; counted only if they are limited. */
  fires: number | null;
  cadenceId: number | null;
  /** The version of the calendar with which its cadence was resolved. */
  calendar: CalendarRef | null;
  /** The lane that all of its jobs pass, because they share a group. */
  lane: string | null;
  /** The team whose quotas count it. */
  teamId: number | null;
  /** The length of its payload as JSON; null if it has none. */
  payloadBytes: number | null;
  /** Set while the schedule is in quarantine because it could not be planned. */
  aside: PlanAside | null;
  createdAt: Date;
  createdBy: string;
  updatedAt: Date;
  updatedBy: string;
}

type StoredRow = Omit<StoredSchedule, keyof StoredSpec | "calendar" | "lastVersion" | "versionsFault"> &
  SpecColumns &
  VersionColumns;

/** Null in place of the payload, for reads of many schedules: payloads may be large. */
const withoutPayload = (tx: Tx) => tx`null::jsonb`;

const storedColumns = (tx: Tx, payload = tx`v.payload`, rules = tx`r.rules`) => tx`
  s.id, s.key, s.shard, s.version, s.spec_version as "specVersion", s.fires, s.lane, s.team_id as "teamId", s.payload_bytes as "payloadBytes", q.detail as aside,
  ${readableStart(tx, tx`s.held_since`, tx`s.created_at - interval '1 day'`)} as "heldSince", ${readableEnd(tx, tx`s.held_until`)} as "heldUntil",
  s.created_at as "createdAt", s.created_by as "createdBy", s.updated_at as "updatedAt", s.updated_by as "updatedBy",
  ${versionColumns(tx)}, v.body as sparse, v.target, ${payload} as payload, ${cadenceColumns(tx, rules)}`;

const withSpec = (tx: Tx, heads = tx`carillon.schedules`) => tx`
  ${heads} s
  left join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
  left join carillon.cadences c on c.id = v.cadence_id
  left join carillon.calendar_versions r on r.id = c.calendar_version
  left join carillon.quarantine q on q.consumer = 'plan' and q.item = s.id::text`;

function stored(row: StoredRow): StoredSchedule {
  const { id, key, shard, version, specVersion, heldSince, heldUntil, fires, cadenceId, lane, aside } = row;
  const { teamId, payloadBytes } = row;
  const { createdAt, createdBy, updatedAt, updatedBy } = row;
  const fault = versionsFault(row);
  return {
    id,
    key,
    shard,
    version,
    lastVersion: row.higherVersion ?? version,
    versionsFault: fault,
    specVersion,
    // A hold is never older than its schedule. From `-infinity` there would be occurrences of two
    // thousand years.
    heldSince: heldSince !== null && isOutermost(heldSince) ? createdAt : heldSince,
    heldUntil,
    fires,
    cadenceId,
    lane,
    teamId,
    payloadBytes,
    aside,
    createdAt,
    createdBy,
    updatedAt,
    updatedBy,
    calendar: calendarOf(row),
    ...specOf(row, fault),
  };
}

export async function findSchedule(tx: Tx, key: string): Promise<StoredSchedule | null> {
  const [row] = await keptPlan(tx<StoredRow[]>`
    select ${storedColumns(tx)} from ${withSpec(tx)} where s.key = ${key} and s.deleted_at is null`);
  return row === undefined ? null : stored(row);
}

/** The id and the shard of a schedule, by which its locks are taken. */
export interface Place {
  id: string;
  shard: number;
}

/** The id and the shard of a schedule, read without its spec. */
export async function findPlace(tx: Tx, key: string): Promise<Place | null> {
  const [row] = await tx<Place[]>`
    select id, shard from carillon.schedules where key = ${key} and deleted_at is null`;
  return row ?? null;
}

/** The id and the shard of a schedule; if no schedule has this key, an id for a new one. */
export async function findPlaceOrNewId(tx: Tx, key: string): Promise<Place | { newId: string }> {
  const [row] = await tx<{ id: string; shard: number | null }[]>`
    select coalesce(s.id, nextval('carillon.schedules_id_seq')) as id, s.shard
    from (select) one left join carillon.schedules s on s.key = ${key} and s.deleted_at is null`;
  if (row === undefined) throw new Error("The query for a new schedule id returned no row.");
  const { id, shard } = row;
  return shard === null ? { newId: id } : { id, shard };
}

/** The schedule that has the key, or the last one that had it. */
export async function findLastOfKey(
  tx: Tx,
  key: string,
): Promise<{ id: string; version: number; deletedAt: Date | null } | null> {
  const [row] = await tx<{ id: string; version: number; deletedAt: Date | null }[]>`
    select id, version, deleted_at as "deletedAt" from (
      (select id, version, deleted_at from carillon.schedules where key = ${key} and deleted_at is null)
      union all (select id, version, deleted_at from carillon.schedules where key = ${key} and deleted_at is not null order by deleted_at desc limit 1)) one
    order by deleted_at desc nulls first limit 1`;
  return row ?? null;
}

/** The existing schedules with these keys, without their payloads. */
export async function findSchedules(tx: Tx, keys: readonly string[]): Promise<StoredSchedule[]> {
  if (keys.length === 0) return [];
  const rows = await tx<StoredRow[]>`
    select ${storedColumns(tx, withoutPayload(tx), rulesOnce(tx))} from ${withSpec(tx)}
    where s.key = any(${keys}::text[]) and s.deleted_at is null`;
  return withSharedRules(rows).map(stored);
}

/** Includes a deleted schedule. */
export async function findScheduleById(tx: Tx, id: string): Promise<StoredSchedule | null> {
  const [row] = await keptPlan(tx<StoredRow[]>`
    select ${storedColumns(tx)} from ${withSpec(tx)} where s.id = ${id}`);
  return row === undefined ? null : stored(row);
}

/**
 * The schedules with these ids that are not deleted, in the order of ids, without their payloads.
 */
export async function findSchedulesById(tx: Tx, ids: readonly string[]): Promise<StoredSchedule[]> {
  // A subquery (`offset 0`): without statistics the planner would read the whole index of live
  // schedules.
  const heads = tx`(select * from carillon.schedules where id = any(${ids}::bigint[]) offset 0)`;
  const rows = await tx<StoredRow[]>`
    select ${storedColumns(tx, withoutPayload(tx), rulesOnce(tx))} from ${withSpec(tx, heads)} where s.deleted_at is null order by s.id`;
  return withSharedRules(rows).map(stored);
}

/**
 * Locks the schedule's row until the transaction ends; null if it was deleted meanwhile. The read
 * is a statement of its own, sent with the lock: a statement that waited for the lock would see the
 * new head with the versions of before.
 */
export async function lockSchedule(tx: Tx, id: string): Promise<StoredSchedule | null> {
  const locked = tx`select from carillon.schedules where id = ${id} for update`.execute();
  const read = keptPlan(tx<StoredRow[]>`
    select ${storedColumns(tx)} from ${withSpec(tx)} where s.id = ${id} and coalesce(s.deleted_at, 'infinity') = 'infinity'`).execute();
  const [, [row]] = await Promise.all([locked, read]);
  return row === undefined ? null : stored(row);
}

/**
 * As `lockSchedule`, for those of several schedules that are not deleted. The condition is written
 * with `coalesce`, so that the planner does not choose the index of all live keys: without
 * statistics it would.
 */
export async function lockSchedules(tx: Tx, ids: readonly string[]): Promise<StoredSchedule[]> {
  const locked = lockRows(tx, ids);
  const read = tx<StoredRow[]>`
    select ${storedColumns(tx, tx`v.payload`, rulesOnce(tx))} from ${withSpec(tx)}
    where s.id = any(${ids}::bigint[]) and coalesce(s.deleted_at, 'infinity') = 'infinity' order by s.id`.execute();
  const [, rows] = await Promise.all([locked, read]);
  return withSharedRules(rows).map(stored);
}

/** Locks the rows. A read in the same statement would use a snapshot older than the lock. */
export function lockRows(tx: Tx, ids: readonly string[]): PromiseLike<unknown> {
  return tx`select from carillon.schedules where id = any(${ids}::bigint[]) order by id for update`.execute();
}

/** Throws if one of these was restored to another moment than its versions: its spec is unknown. */
export function refuseOtherMoment(schedules: readonly Pick<StoredSchedule, "versionsFault">[]): void {
  const [fault] = schedules.flatMap(({ versionsFault: each }) => (each === null ? [] : [each]));
  if (fault !== undefined) throw new Error(fault);
}
