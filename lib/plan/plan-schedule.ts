import type { Tx } from "../db/connect.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { plannedColumns } from "../schedule/cadence-columns.ts";
import type { StoredSchedule } from "../schedule/stored-schedule.ts";
import { dueAt, isGoverned, occurrenceDueBy, type Timetable, timetableOf } from "../schedule/timetable.ts";
import { attachMissingDays } from "./attach-days.ts";
import { type Fired, fire } from "./fire.ts";
import { type Moment, unfold } from "./instants.ts";
import { plannedUpTo, type ShardState } from "./shard.ts";

/** A schedule in one version, as planning sees it. */
export interface Planned {
  id: string;
  version: number;
  timetable: Timetable;
  cadenceId: number | null;
  /** Its plan rows do not tell everything by themselves. */
  governed: boolean;
}

export function plannedOf(schedule: StoredSchedule): Planned {
  const { id, version, cadenceId, body } = schedule;
  return { id, version, cadenceId, timetable: timetableOf(schedule), governed: isGoverned(body) };
}

/**
 * Plans a schedule from one occurrence on. What is due at or below the shard's watermark becomes jobs and parcels at once, by
 * the same statement as in the tick; the first beyond becomes a plan row. With `owed`, what is due by now is decided
 * here too, even where the ticks lag behind.
 */
export async function planFrom(
  tx: Tx,
  state: ShardState,
  planned: Planned,
  first: number | null,
  owed?: Omit<Moment, "upTo">,
): Promise<OutgoingParcel[]> {
  const { timetable } = planned;
  if (first === null || timetable.firesLeft === 0) return [];
  const watermark = plannedUpTo(state, planned.id).getTime();
  const bound = owed === undefined ? watermark : Math.max(watermark, state.now.getTime());
  const due = dueAt(timetable, first);
  if (due > bound) {
    await insertPlanRow(tx, state, planned, { occurrence: first, due });
    return [];
  }
  const moment = { missedUpTo: Number.NEGATIVE_INFINITY, ...owed, upTo: occurrenceDueBy(timetable, bound) };
  return (await firePlanned(tx, state, planned, first, moment)).parcels;
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

/** From which occurrence on a schedule is to be planned, and how far. */
export interface Beginning {
  planned: Planned;
  first: number;
  moment: Moment;
}

/** The same for schedules of one shard, which share parcels. */
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
  });
}

export async function insertPlanRow(
  tx: Tx,
  state: ShardState,
  { id, version, timetable, cadenceId, governed }: Planned,
  { occurrence, due }: { occurrence: number; due: number },
): Promise<void> {
  const at = new Date(due);
  const row = tx`(due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed, shard)
    values (${at}, ${new Date(occurrence)}, ${id}, ${plannedColumns(timetable.cadence).everyMs}, ${version}, ${cadenceId},
      ${governed ? true : null}, ${state.shard})`;
  if (at < state.nearUntil) await tx`insert into carillon.plan ${row}`;
  else await tx`insert into carillon.plan_far ${row}`;
}

export interface PlannedRow extends Planned {
  occurrence: number;
  due: number;
}

/** As `insertPlanRow`, for schedules of one shard. */
export async function insertPlanRows(tx: Tx, state: ShardState, rows: readonly PlannedRow[]): Promise<void> {
  const near = rows.filter(({ due }) => due < state.nearUntil.getTime());
  const far = rows.filter(({ due }) => due >= state.nearUntil.getTime());
  for (const [table, planned] of [
    [tx`carillon.plan`, near],
    [tx`carillon.plan_far`, far],
  ] as const) {
    if (planned.length === 0) continue;
    const dates = (of: (row: PlannedRow) => number) => tx.array(planned.map((row) => new Date(of(row))));
    await tx`
      insert into ${table} (due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed, shard)
      select r.*, ${state.shard} from unnest(${dates(({ due }) => due)}::timestamptz[], ${dates(({ occurrence }) => occurrence)}::timestamptz[],
        ${planned.map(({ id }) => id)}::bigint[], ${planned.map(({ timetable }) => plannedColumns(timetable.cadence).everyMs)}::bigint[],
        ${planned.map(({ version }) => version)}::int[], ${planned.map((row) => row.cadenceId)}::int[],
        ${planned.map(({ governed }) => (governed ? true : null))}::boolean[]) r`;
  }
}

export interface PendingRow {
  occurrence: Date;
  dueAt: Date;
}

/**
 * The plan rows of this version that are due by now and that no tick has taken. They tell from where nothing is planned
 * yet: the watermark may stand where the version had not begun, or where a batch has already unfolded it to the horizon.
 */
export async function pendingRows(
  tx: Tx,
  { shard, watermarkAt, watermarkSchedule, now }: ShardState,
  { id, version }: Pick<Planned, "id" | "version">,
): Promise<PendingRow[]> {
  return tx<PendingRow[]>`
    select occurrence, due_at as "dueAt" from carillon.plan
    where shard = ${shard} and (due_at, schedule_id) > (${watermarkAt}, ${watermarkSchedule}::bigint)
      and due_at >= ${watermarkAt} and due_at <= ${now} and schedule_id = ${id} and version = ${version}
    union all
    select occurrence, due_at from carillon.plan_far
    where shard = ${shard} and due_at <= ${now} and schedule_id = ${id} and version = ${version}
    order by 2`;
}
