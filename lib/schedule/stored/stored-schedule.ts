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

/** What the quarantine keeps of a schedule that could not be planned: from which occurrence on it goes on. */
export interface PlanAside {
  [name: string]: string | number | null;
  version: number;
  occurrence: string;
  dueAt: string;
  /** Where it is what was due under a hold that has ended by itself: since when that held, until `dueAt`. */
  heldSince: string | null;
  /** The occurrence after that hold, where it was passed over too. */
  next: string | null;
  /** The ledger lacks the occurrences passed over under that hold: the cadence could not be read when the hold was taken off. */
  ledger?: "behind";
  /** Names of far rows that were passed over and may still be in their table: the retry takes them out of it. */
  far?: string;
}

/** A schedule as it stands in the database: its head and the spec of its current version. */
export interface StoredSchedule extends StoredSpec {
  id: string;
  key: string;
  shard: number;
  version: number;
  /** The highest number that a row of its versions has: above `version` where the tables were restored to different moments. */
  lastVersion: number;
  /** Why it and the rows of its versions are of different moments; null where they are of one. Then `unread` says so too. */
  versionsFault: string | null;
  specVersion: number;
  heldSince: Date | null;
  /** When the last hold ends by itself. */
  heldUntil: Date | null;
  /** Cadence jobs made so far, counted where they are limited. */
  fires: number | null;
  cadenceId: number | null;
  /** The version of the calendar with which its cadence was resolved. */
  calendar: CalendarRef | null;
  /** The lane that all of its jobs pass, because they share a group. */
  lane: string | null;
  /** It waits in quarantine, since it could not be planned. */
  aside: PlanAside | null;
  createdAt: Date;
  createdBy: string;
  updatedAt: Date;
  updatedBy: string;
}

type StoredRow = Omit<StoredSchedule, keyof StoredSpec | "calendar" | "lastVersion" | "versionsFault"> &
  SpecColumns &
  VersionColumns;

/** Payloads may be large: whoever reads many schedules leaves them out. */
const withoutPayload = (tx: Tx) => tx`null::jsonb`;

const storedColumns = (tx: Tx, payload = tx`v.payload`, rules = tx`r.rules`) => tx`
  s.id, s.key, s.shard, s.version, s.spec_version as "specVersion", s.fires, s.lane, q.detail as aside,
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
    // No hold is older than its schedule: since `-infinity` there would be occurrences of two thousand years.
    heldSince: heldSince !== null && isOutermost(heldSince) ? createdAt : heldSince,
    heldUntil,
    fires,
    cadenceId,
    lane,
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

/** By what a schedule's locks are taken. */
export interface Place {
  id: string;
  shard: number;
}

/** No more than that. */
export async function findPlace(tx: Tx, key: string): Promise<Place | null> {
  const [row] = await tx<Place[]>`
    select id, shard from carillon.schedules where key = ${key} and deleted_at is null`;
  return row ?? null;
}

/** The same for who makes a schedule where there is none: it has this id. */
export async function findPlaceOrNewId(tx: Tx, key: string): Promise<Place | { newId: string }> {
  const [row] = await tx<{ id: string; shard: number | null }[]>`
    select coalesce(s.id, nextval('carillon.schedules_id_seq')) as id, s.shard
    from (select) one left join carillon.schedules s on s.key = ${key} and s.deleted_at is null`;
  if (row === undefined) throw new Error("A row that is always there was not read.");
  const { id, shard } = row;
  return shard === null ? { newId: id } : { id, shard };
}

/** Those of these keys that there are, without their payloads. */
export async function findSchedules(tx: Tx, keys: readonly string[]): Promise<StoredSchedule[]> {
  if (keys.length === 0) return [];
  const rows = await tx<StoredRow[]>`
    select ${storedColumns(tx, withoutPayload(tx), rulesOnce(tx))} from ${withSpec(tx)}
    where s.key = any(${keys}::text[]) and s.deleted_at is null`;
  return withSharedRules(rows).map(stored);
}

/** Also one that is deleted. */
export async function findScheduleById(tx: Tx, id: string): Promise<StoredSchedule | null> {
  const [row] = await keptPlan(tx<StoredRow[]>`
    select ${storedColumns(tx)} from ${withSpec(tx)} where s.id = ${id}`);
  return row === undefined ? null : stored(row);
}

/** Those of these schedules that are not deleted, in the order of ids, without their payloads. */
export async function findSchedulesById(tx: Tx, ids: readonly string[]): Promise<StoredSchedule[]> {
  // Apart (`offset 0`): without statistics an index of all that live would seem worth reading.
  const heads = tx`(select * from carillon.schedules where id = any(${ids}::bigint[]) offset 0)`;
  const rows = await tx<StoredRow[]>`
    select ${storedColumns(tx, withoutPayload(tx), rulesOnce(tx))} from ${withSpec(tx, heads)} where s.deleted_at is null order by s.id`;
  return withSharedRules(rows).map(stored);
}

/**
 * Locks the schedule's row until the transaction ends; null when it was deleted meanwhile. Read by a statement of its own, sent with the
 * lock: whoever has waited would find the row as it is now, and beside it no version but that of before.
 */
export async function lockSchedule(tx: Tx, id: string): Promise<StoredSchedule | null> {
  const locked = tx`select from carillon.schedules where id = ${id} for update`.execute();
  const read = keptPlan(tx<StoredRow[]>`
    select ${storedColumns(tx)} from ${withSpec(tx)} where s.id = ${id} and coalesce(s.deleted_at, 'infinity') = 'infinity'`).execute();
  const [, [row]] = await Promise.all([locked, read]);
  return row === undefined ? null : stored(row);
}

/**
 * As `lockSchedule`, those that are not deleted. Said so that the index of all keys that live does not tell it: without statistics that
 * would seem worth reading.
 */
export async function lockSchedules(tx: Tx, ids: readonly string[]): Promise<StoredSchedule[]> {
  const locked = lockRows(tx, ids);
  const read = tx<StoredRow[]>`
    select ${storedColumns(tx, tx`v.payload`, rulesOnce(tx))} from ${withSpec(tx)}
    where s.id = any(${ids}::bigint[]) and coalesce(s.deleted_at, 'infinity') = 'infinity' order by s.id`.execute();
  const [, rows] = await Promise.all([locked, read]);
  return withSharedRules(rows).map(stored);
}

/** What is read of them in the same statement is as it was before whoever had one locked. */
export function lockRows(tx: Tx, ids: readonly string[]): PromiseLike<unknown> {
  return tx`select from carillon.schedules where id = any(${ids}::bigint[]) order by id for update`.execute();
}

/** Throws where one of these was restored to another moment than its versions: what it asked for is not known. */
export function refuseOtherMoment(schedules: readonly Pick<StoredSchedule, "versionsFault">[]): void {
  const [fault] = schedules.flatMap(({ versionsFault: each }) => (each === null ? [] : [each]));
  if (fault !== undefined) throw new Error(fault);
}
