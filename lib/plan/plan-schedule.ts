import type { Tx } from "../db/connect.ts";
import { keptPlan } from "../db/statement.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { plannedColumns } from "../schedule/stored/cadence-columns.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import {
  dueAt,
  isGoverned,
  occurrenceDueBy,
  type Timetable,
  timetableOf,
} from "../schedule/stored/timetable.ts";
import { attachMissingDays } from "./attach-days.ts";
import { farRowName } from "./far-rows.ts";
import { type Fired, fire } from "./fire.ts";
import { type Moment, unfold } from "./instants.ts";
import { parcelsOfPulses } from "./pulse-parcels.ts";
import { plannedUpTo, type ShardState } from "./shard.ts";

/** A schedule in one version, as planning sees it. */
export interface Planned {
  id: string;
  version: number;
  timetable: Timetable;
  cadenceId: number | null;
  /** The schedule's rules must be read to unfold its plan rows. */
  governed: boolean;
  /** A pulse has no plan row and no jobs: carillon.pulses says when it is due. */
  pulse: boolean;
}

export function plannedOf(schedule: StoredSchedule): Planned {
  const { id, version, cadenceId, body } = schedule;
  return { id, version, cadenceId, timetable: timetableOf(schedule), ...rulesOf(body) };
}

/** How a schedule with this body is planned. */
export function rulesOf(body: ScheduleBody): Pick<Planned, "governed" | "pulse"> {
  return { governed: isGoverned(body), pulse: body.delivery === "pulse" };
}

/**
 * Bounds by which occurrences that are already due are made, caught up or passed over in this call.
 */
export type DueBounds = Omit<Moment, "upTo">;

/**
 * Plans a schedule from one occurrence on. Occurrences due by the shard's watermark become jobs and
 * parcels at once, by the statement that the tick uses; the first one beyond becomes a plan row.
 * With `owed`, occurrences due by now are resolved here too, even if the ticks lag behind.
 */
export function planFrom(
  tx: Tx,
  state: ShardState,
  planned: Planned,
  first: number | null,
  owed?: DueBounds,
): Promise<OutgoingParcel[]> {
  return planFromEach(tx, [{ state, planned, first, owed }]);
}

/** Plans many schedules, of any shards. */
export async function planFromEach(
  tx: Tx,
  requests: readonly {
    state: ShardState;
    planned: Planned;
    first: number | null;
    owed?: DueBounds | undefined;
  }[],
): Promise<OutgoingParcel[]> {
  const rows: { state: ShardState; row: PlannedRow }[] = [];
  const beginnings: { state: ShardState; beginning: Beginning }[] = [];
  const pulses: string[] = [];
  for (const { state, planned, first, owed } of requests) {
    const { timetable } = planned;
    if (planned.pulse) {
      pulses.push(planned.id);
      continue;
    }
    if (first === null || timetable.firesLeft === 0) continue;
    const watermark = plannedUpTo(state, planned.id).getTime();
    const bound = owed === undefined ? watermark : Math.max(watermark, state.now.getTime());
    const due = dueAt(timetable, first);
    if (due > bound) rows.push({ state, row: { ...planned, occurrence: first, due } });
    else {
      const upTo = occurrenceDueBy(timetable, bound);
      const moment = { missedUpTo: Number.NEGATIVE_INFINITY, ...owed, upTo };
      beginnings.push({ state, beginning: { planned, first, moment } });
    }
  }
  await insertPlanRows(tx, rows);
  const parcels = await parcelsOfPulses(tx, pulses);
  for (const ofShard of Map.groupBy(beginnings, ({ state }) => state.shard).values()) {
    const [first] = ofShard;
    if (first === undefined) continue;
    const each = ofShard.map(({ beginning }) => beginning);
    parcels.push(...(await firePlannedEach(tx, first.state, each)).parcels);
  }
  return parcels;
}

/** Makes the jobs of one schedule from an occurrence on, and its plan row beyond. */
export function firePlanned(
  tx: Tx,
  state: ShardState,
  planned: Planned,
  first: number,
  moment: Moment,
): Promise<Fired> {
  return firePlannedEach(tx, state, [{ planned, first, moment }]);
}

/**
 * A schedule to plan, with the occurrence from which and the bounds within which it is unfolded.
 */
export interface Beginning {
  planned: Planned;
  first: number;
  moment: Moment;
}

/** Up to this many rows, the kept generic plan is as good as a custom plan. */
const fewAtMost = 100;

/** Makes the jobs of many schedules of one shard, which share parcels. */
export async function firePlannedEach(
  tx: Tx,
  state: ShardState,
  beginnings: readonly Beginning[],
): Promise<Fired> {
  const unfolded = beginnings.map(({ planned: { id, timetable }, first, moment }) => ({
    ...unfold(timetable, first, moment),
    key: { scheduleId: id },
    planned: new Date(first),
    plannedDue: new Date(dueAt(timetable, first)),
    limited: timetable.firesLeft !== null,
  }));
  const instants = unfolded.flatMap(({ runs, passed }) => [...runs, ...passed]);
  await attachMissingDays(tx, instants, state);
  const each = beginnings.map(({ planned }) => planned);
  return fire(tx, {
    source: tx`
      select p.*, true as own, p.due_at as bound
      from unnest(${tx.array(unfolded.map(({ plannedDue }) => plannedDue))}::timestamptz[],
        ${tx.array(unfolded.map(({ planned }) => planned))}::timestamptz[], ${each.map(({ id }) => id)}::bigint[],
        ${each.map(({ timetable }) => plannedColumns(timetable.cadence).everyMs)}::bigint[], ${each.map(({ version }) => version)}::int[],
        ${each.map(({ cadenceId }) => cadenceId)}::int[], ${each.map(({ governed }) => (governed ? true : null))}::boolean[])
        p (due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed)`,
    shard: state.shard,
    now: state.now,
    nearUntil: state.nearUntil,
    unfolded,
    few: beginnings.length <= fewAtMost,
  });
}

export interface PlannedRow extends Planned {
  occurrence: number;
  due: number;
}

export function insertPlanRow(
  tx: Tx,
  state: ShardState,
  planned: Planned,
  { occurrence, due }: { occurrence: number; due: number },
): Promise<void> {
  return insertPlanRows(tx, [{ state, row: { ...planned, occurrence, due } }]);
}

/** Inserts plan rows of any shards. */
export async function insertPlanRows(
  tx: Tx,
  rows: readonly { state: ShardState; row: PlannedRow }[],
): Promise<void> {
  const isNear = ({ state, row }: (typeof rows)[number]) => row.due < state.nearUntil.getTime();
  for (const [table, planned] of [
    [tx`carillon.plan`, rows.filter(isNear)],
    [tx`carillon.plan_far`, rows.filter((each) => !isNear(each))],
  ] as const) {
    if (planned.length === 0) continue;
    const dates = (of: (row: PlannedRow) => number) => tx.array(planned.map(({ row }) => new Date(of(row))));
    await keptPlan(tx`
      insert into ${table} (due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed, shard)
      select * from unnest(${dates(({ due }) => due)}::timestamptz[], ${dates(({ occurrence }) => occurrence)}::timestamptz[],
        ${planned.map(({ row }) => row.id)}::bigint[], ${planned.map(({ row }) => plannedColumns(row.timetable.cadence).everyMs)}::bigint[],
        ${planned.map(({ row }) => row.version)}::int[], ${planned.map(({ row }) => row.cadenceId)}::int[],
        ${planned.map(({ row }) => (row.governed ? true : null))}::boolean[], ${planned.map(({ state }) => state.shard)}::int[]::smallint[]) r`);
  }
}

export interface PendingRow {
  occurrence: Date;
  dueAt: Date;
}

/**
 * Plan rows of this version that are due by now and that no tick has taken. They show from where
 * nothing is planned yet. The watermark cannot show that: it may be at a point where the version
 * had not begun, or where a batch has already unfolded the version to the horizon. `passed` names
 * far rows that were left out because they could not be planned.
 */
export async function pendingRows(
  tx: Tx,
  { shard, watermarkAt, watermarkSchedule, nearUntil, now }: ShardState,
  { id, version, passed }: Pick<Planned, "id" | "version"> & { passed: readonly string[] },
): Promise<PendingRow[]> {
  return tx<PendingRow[]>`
    select occurrence, due_at as "dueAt" from carillon.plan
    where shard = ${shard} and (due_at, schedule_id) > (${watermarkAt}, ${watermarkSchedule}::bigint)
      and due_at >= ${watermarkAt} and due_at <= ${now} and schedule_id = ${id} and version = ${version}
    union all
    select occurrence, due_at from carillon.plan_far f
    where shard = ${shard} and due_at >= ${nearUntil} and due_at <= ${now} and schedule_id = ${id} and version = ${version}
      and ${farRowName(tx)} <> all(${[...passed]}::text[])
    order by 2`;
}

/** Selects the schedules, all of one shard, that have due plan rows not taken by a tick yet. */
export async function withPendingRows(
  tx: Tx,
  { shard, watermarkAt, watermarkSchedule, now }: ShardState,
  schedules: readonly Pick<Planned, "id" | "version">[],
): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    with wanted as materialized (
      select * from unnest(${schedules.map(({ id }) => id)}::bigint[], ${schedules.map(({ version }) => version)}::int[]) w (id, version)
    )
    select p.schedule_id as id from carillon.plan p join wanted w on w.id = p.schedule_id and w.version = p.version
    where p.shard = ${shard} and (p.due_at, p.schedule_id) > (${watermarkAt}, ${watermarkSchedule}::bigint)
      and p.due_at >= ${watermarkAt} and p.due_at <= ${now}
    union
    select p.schedule_id from carillon.plan_far p join wanted w on w.id = p.schedule_id and w.version = p.version
    where p.shard = ${shard} and p.due_at <= ${now}`;
  return rows.map(({ id }) => id);
}
