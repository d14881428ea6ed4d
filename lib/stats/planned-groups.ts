import type { Cadence } from "../cadence/cadence.ts";
import { durationMs } from "../cadence/duration.ts";
import type { Tx } from "../db/connect.ts";
import { shardCount } from "../plan/shard.ts";
import { type CadenceColumns, sharedCadence } from "../schedule/cadence-columns.ts";
import { spreadOffset, type Timetable } from "../schedule/timetable.ts";
import { lookedUpMax, waitingJobs } from "./standing.ts";

/** Plan rows that fire alike: their next due time falls into the same stretch, and what comes after it is told by the same rule. */
export interface PlannedGroup {
  /** When the first of them is due. */
  due: number;
  /** How many schedules; a part of one where that is an estimate. */
  schedules: number;
  /** The rule of a shared cadence, as it reads, with the occurrence planned next. */
  cadence: { id: number; of: Cadence; expression: string; timezone: string; occurrence: number } | null;
  /** Exact intervals that may fire again before the end; null for others, and for what fires once. */
  everyMs: number | null;
  /** Due is rounded up, so that it is told by the occurrence alone; null where each is due as long after its occurrence as the first. */
  slot: (Pick<Timetable, "lagMs" | "slotMs"> & { occurrence: number }) | null;
}

export interface Planned {
  groups: PlannedGroup[];
  /** Whether each row was looked up; else a part of them, which stands for all. */
  exact: boolean;
}

/** Up to so many rows each is looked up; of more about as many as tell a share within two in a hundred. */
const exactMax = 20_000;
const sampleOf = 2_500;

/** Intervals from this length on are grouped by the minute in which they are due, and may be told a minute early or late. */
const coarseFromMs = 600_000;

/**
 * What the plan has beyond the watermarks and before `end`, in groups. The index by shard and due time finds the rows, whatever is
 * stored beside them. Which of them are left from before an edit, and what rules of their own say, is looked up.
 */
export async function readPlanned(tx: Tx, end: Date): Promise<Planned> {
  const sampling = await readSampling(tx, end);
  const rows = await readGroups(tx, end, sampling);
  const plain = rows.filter(({ governed }) => !governed);
  const governed = rows.filter((row) => row.governed);
  const share = sum(plain, "alive") / sum(plain, "looked");
  const weight = sum(governed, "schedules") / sum(governed, "looked");
  return {
    groups: [
      ...plain.flatMap((row) => groupOf(row, sampling.exact ? row.alive : row.schedules * share)),
      ...governed.flatMap((row) => groupOf(row, row.alive * weight)),
    ],
    exact: sampling.exact,
  };
}

function sum(rows: readonly GroupRow[], column: "schedules" | "looked" | "alive"): number {
  return rows.reduce((all, row) => all + row[column], 0);
}

/** One in so many rows, a power of two, is looked up: of those that tell everything by themselves, and of the governed. */
interface Sampling {
  exact: boolean;
  plain: number;
  governed: number;
}

async function readSampling(tx: Tx, end: Date): Promise<Sampling> {
  const [few] = await tx<{ rows: number }[]>`
    select count(*)::int as rows from (select from (${rowsBefore(tx, end)}) p limit ${exactMax + 1}::int) r`;
  if ((few?.rows ?? 0) <= exactMax) return { exact: true, plain: 1, governed: 1 };
  // Schedules lie evenly among the shards.
  const [part] = await tx<{ rows: number; governed: number }[]>`
    select count(*)::int as rows, count(p.governed)::int as governed from (${rowsBefore(tx, end, tx`where s.id = 0`)}) p`;
  const oneIn = (ofShard: number) =>
    2 ** Math.max(0, Math.round(Math.log2((ofShard * shardCount) / sampleOf)));
  return { exact: false, plain: oneIn(part?.rows ?? 0), governed: oneIn(part?.governed ?? 0) };
}

function rowsBefore(tx: Tx, end: Date, which = tx``) {
  return tx`
    select r.* from carillon.shards s cross join lateral (
      select p.due_at, p.occurrence, p.schedule_id, p.every_ms, p.version, p.cadence_id, p.governed from carillon.plan p
      where p.shard = s.id and p.due_at >= s.watermark_at and (p.due_at, p.schedule_id) > (s.watermark_at, s.watermark_schedule) and p.due_at < ${end}
      union all
      select f.due_at, f.occurrence, f.schedule_id, f.every_ms, f.version, f.cadence_id, f.governed from carillon.plan_far f
      where f.shard = s.id and f.due_at < ${end}
    ) r ${which}`;
}

interface GroupRow extends Pick<CadenceColumns, "expression" | "zone" | "dst" | "calendarOn" | "rules"> {
  due: Date;
  /** Plan rows; of which so many were looked up, and so many of those still count. */
  schedules: number;
  looked: number;
  alive: number;
  governed: boolean;
  /** Of governed rows that still count: the slot, with the spread and key that move due before it, and whether a hold ends with it. */
  own: [slot: string | null, spread: string | null, key: string | null, release: string] | null;
  cadenceId: number | null;
  occurrence: Date | null;
  everyMs: number | null;
}

/** The column of a governed row that is looked up; a slot is in whole seconds, so that an occurrence may be rounded up to one. */
const ownColumn = (tx: Tx) => tx`
  (select array[v.body ->> 'slot', case when v.body ->> 'slot' is not null then v.body ->> 'spread' end,
      case when v.body ->> 'slot' is not null and v.body ->> 'spread' is not null then s.key end, (s.held_until is not distinct from p.due_at)::text]
    from carillon.schedules s join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    where s.id = p.schedule_id and s.version = p.version and s.deleted_at is null offset 0)`;

function readGroups(tx: Tx, end: Date, sampling: Sampling): PromiseLike<GroupRow[]> {
  return tx<GroupRow[]>`
    select g.due, g.schedules, g.looked, g.alive, g.governed, g.own, g.cadence_id as "cadenceId", g.occurrence, g.every_ms::float8 as "everyMs",
      c.expression, c.timezone as zone, c.dst, c.calendar_on as "calendarOn", r.rules
    from (
      select min(p.due_at) as due, count(*)::int as schedules, count(p.alive)::int as looked, count(*) filter (where p.alive)::int as alive,
        p.governed, p.own, p.cadence_id, p.occurrence, p.every_ms
      from (
        select p.due_at, p.cadence_id, p.governed, p.own,
          case when p.cadence_id is not null or p.own[3] is not null then p.occurrence
            when p.own[1] is not null then date_bin('1 second', p.occurrence + interval '999 milliseconds', 'epoch') end as occurrence,
          case when p.every_ms < p.window_ms or p.own[1] is not null then p.every_ms end as every_ms,
          date_bin(case when p.every_ms < p.window_ms and p.every_ms < ${coarseFromMs}::int then interval '1 second' else interval '1 minute' end,
            p.due_at, 'epoch') as bin,
          case when not p.sampled then null when p.governed then p.own is not null
            else exists (select from carillon.schedules s where s.id = p.schedule_id and s.version = p.version and s.deleted_at is null offset 0) end as alive
        from (
          select p.*, case when p.sampled and p.governed then ${ownColumn(tx)} end as own
          from (
            select p.due_at, p.occurrence, p.schedule_id, p.every_ms, p.version, p.cadence_id, p.governed is not null as governed, w.window_ms,
              hashint8(p.schedule_id) & case when p.governed is null then ${sampling.plain - 1}::int else ${sampling.governed - 1}::int end = 0 as sampled
            from (${rowsBefore(tx, end)}) p
            cross join (select ceil(extract(epoch from ${end} - carillon.clock()) * 1000)::bigint as window_ms) w
          ) p
        ) p
      ) p
      group by p.cadence_id, p.governed, p.own, p.occurrence, p.every_ms, p.bin
    ) g
    left join carillon.cadences c on c.id = g.cadence_id left join carillon.calendar_versions r on r.id = c.calendar_version`;
}

function groupOf(row: GroupRow, schedules: number): PlannedGroup[] {
  if (!(schedules > 0)) return [];
  const due = row.due.getTime();
  const [slot, spread, key, release] = row.own ?? [null, null, null, "false"];
  // What was due under a hold comes once when it ends; what is due after it has a row of its own.
  if (release === "true") return [{ due, schedules, cadence: null, everyMs: null, slot: null }];
  const occurrence = row.occurrence?.getTime() ?? due;
  const lagMs = spreadOffset(key ?? "", spread === null ? 0 : (durationMs(spread) ?? 0));
  const slotMs = slot === null ? null : durationMs(slot);
  return [
    {
      due,
      schedules,
      cadence: plannedCadence(row),
      everyMs: row.everyMs,
      slot: slotMs === null ? null : { slotMs, lagMs, occurrence },
    },
  ];
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
