import type { Cadence } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { type CadenceColumns, sharedCadence } from "../schedule/cadence-columns.ts";
import { lookedUpMax, waitingJobs } from "./standing.ts";

/** Plan rows that fire alike: their next due time falls into the same stretch, and what comes after it is told by the same rule. */
export interface PlannedGroup {
  /** When the first of them is due. */
  due: number;
  /** How many schedules. */
  schedules: number;
  /** The rule of a shared cadence, as it reads, with the occurrence planned next. */
  cadence: { id: number; of: Cadence; expression: string; timezone: string; occurrence: number } | null;
  /** Exact intervals that fire again before the end; null for others, and for what fires once. */
  everyMs: number | null;
}

export interface Planned {
  groups: PlannedGroup[];
  /** Of what the groups count so many stand for schedules as they are now; the others are left from before an edit. */
  liveShare: number;
  /** Whether each row was looked up; then none of the others is in a group. */
  exact: boolean;
}

/** Up to so many rows each is looked up; of more, one in so many tells which share still counts. */
const exactMax = 20_000;
const sampled = 32;

/** Intervals from this length on are grouped by the minute in which they are due, and may be told a minute early or late. */
const coarseFromMs = 600_000;

/**
 * What the plan has beyond the watermarks and before `end`, in groups. No schedule is looked at but for the share of rows that still
 * count; the index by shard and due time finds the rows, whatever is stored beside them.
 */
export async function readPlanned(tx: Tx, end: Date): Promise<Planned> {
  const [sum] = await tx<{ rows: number }[]>`
    select count(*)::int as rows from (select from (${rowsBefore(tx, end)}) p limit ${exactMax + 1}::int) r`;
  const exact = (sum?.rows ?? 0) <= exactMax;
  const rows = await readGroups(tx, end, exact ? 1 : sampled);
  const looked = rows.reduce((all, row) => all + row.looked, 0);
  const alive = rows.reduce((all, row) => all + row.alive, 0);
  return {
    groups: rows.flatMap((row) => {
      const schedules = exact ? row.alive : row.schedules;
      return schedules === 0 ? [] : [groupOf(row, schedules)];
    }),
    liveShare: exact || looked === 0 ? 1 : alive / looked,
    exact,
  };
}

function rowsBefore(tx: Tx, end: Date) {
  return tx`
    select r.* from carillon.shards s cross join lateral (
      select p.due_at, p.occurrence, p.schedule_id, p.every_ms, p.version, p.cadence_id from carillon.plan p
      where p.shard = s.id and p.due_at >= s.watermark_at and (p.due_at, p.schedule_id) > (s.watermark_at, s.watermark_schedule) and p.due_at < ${end}
      union all
      select f.due_at, f.occurrence, f.schedule_id, f.every_ms, f.version, f.cadence_id from carillon.plan_far f
      where f.shard = s.id and f.due_at < ${end}
    ) r`;
}

interface GroupRow extends Pick<CadenceColumns, "expression" | "zone" | "dst" | "calendarOn" | "rules"> {
  due: Date;
  /** Plan rows; of which so many were looked up, and so many of those still count. */
  schedules: number;
  looked: number;
  alive: number;
  cadenceId: number | null;
  occurrence: Date | null;
  everyMs: number | null;
}

/** One in so many rows, a power of two, is looked up. */
function readGroups(tx: Tx, end: Date, oneIn: number): PromiseLike<GroupRow[]> {
  return tx<GroupRow[]>`
    select g.due, g.schedules, g.looked, g.alive, g.cadence_id as "cadenceId", g.occurrence, g.every_ms::float8 as "everyMs",
      c.expression, c.timezone as zone, c.dst, c.calendar_on as "calendarOn", r.rules
    from (
      select min(p.due_at) as due, count(*)::int as schedules, count(p.alive)::int as looked, count(*) filter (where p.alive)::int as alive, p.cadence_id,
        case when p.cadence_id is not null then p.occurrence end as occurrence,
        case when p.due_at + p.every_ms * interval '1 millisecond' < ${end} then p.every_ms end as every_ms
      from (
        select p.*, case when hashint8(p.schedule_id) & ${oneIn - 1}::int = 0 then exists (
          select from carillon.schedules s where s.id = p.schedule_id and s.version = p.version and s.deleted_at is null offset 0) end as alive
        from (${rowsBefore(tx, end)}) p
      ) p
      group by p.cadence_id, 6, 7, date_bin(case when p.every_ms < ${coarseFromMs}::int and p.due_at + p.every_ms * interval '1 millisecond' < ${end}
        then interval '1 second' else interval '1 minute' end, p.due_at, 'epoch')
    ) g
    left join carillon.cadences c on c.id = g.cadence_id left join carillon.calendar_versions r on r.id = c.calendar_version`;
}

function groupOf(row: GroupRow, schedules: number): PlannedGroup {
  return { due: row.due.getTime(), schedules, cadence: plannedCadence(row), everyMs: row.everyMs };
}

function plannedCadence(row: GroupRow): PlannedGroup["cadence"] {
  const { cadenceId, occurrence, expression, zone } = row;
  if (cadenceId === null || occurrence === null || expression === null || zone === null) return null;
  return {
    id: cadenceId,
    of: sharedCadence(row),
    expression,
    timezone: zone,
    occurrence: occurrence.getTime(),
  };
}

/** What has been made already and is to start before `end`, by minute. */
export async function readMade(tx: Tx, end: Date): Promise<{ at: number; fires: number }[]> {
  const soon = tx`
    select p.id, date_trunc('minute', p.ready_at) as at, p.occurrences, p.schedule_ids, p.kinds, p.ns
    from (select * from carillon.parcels limit ${madeMax}::int) p
    where p.ready_at >= date_trunc('minute', carillon.clock()) and p.ready_at < ${end}`;
  const [sum] = await tx<{ listed: number }[]>`
    select coalesce(sum(cardinality(occurrences)), 0)::float8 as listed from (${soon}) p`;
  const rows = await tx<{ at: Date; fires: number }[]>`
    select p.at, sum(j.jobs)::float8 as fires from (${soon}) p
    cross join lateral (${
      (sum?.listed ?? 0) <= lookedUpMax
        ? tx`select count(*) as jobs from (${waitingJobs(tx)}) j`
        : tx`select cardinality(p.occurrences) as jobs`
    }) j group by 1`;
  return rows.map(({ at, fires }) => ({ at: at.getTime(), fires }));
}

const madeMax = 100_000;
