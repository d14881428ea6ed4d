import type { Cadence } from "../cadence/cadence-kinds.ts";
import { durationMs } from "../cadence/duration.ts";
import type { Tx } from "../db/connect.ts";
import { type CadenceColumns, sharedCadence } from "../schedule/stored/cadence-columns.ts";
import { spreadOffset, type Timetable } from "../schedule/stored/timetable.ts";

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

/** From the slowest shard's watermark on. */
export interface Span {
  now: Date;
  from: Date;
  end: Date;
}

/**
 * What the plan has beyond the watermarks and before the end, in groups. The index by shard and due time finds the rows, whatever is
 * stored beside them. Which of them are left from before an edit, and what rules of their own say, is looked up.
 */
export async function readPlanned(tx: Tx, span: Span): Promise<Planned> {
  const [few] = await tx<{ rows: number }[]>`
    select count(*)::int as rows from (select from (${rowsWithin(tx, span)}) p limit ${exactMax + 1}::int) r`;
  if ((few?.rows ?? 0) <= exactMax) {
    const looked = await readLooked(tx, span, { plain: 1, governed: 1 });
    return { groups: looked.flatMap((row) => groupOf(row, row.alive)), exact: true };
  }
  const all = await readCounted(tx, span);
  const rows = { plain: sum(all, "schedules", false), governed: sum(all, "schedules", true) };
  const looked = await readLooked(tx, span, { plain: oneIn(rows.plain), governed: oneIn(rows.governed) });
  const share = sum(looked, "alive", false) / sum(looked, "schedules", false);
  const weight = rows.governed / sum(looked, "schedules", true);
  return {
    groups: [
      ...all.flatMap((row) => (row.governed ? [] : groupOf(row, row.schedules * share))),
      ...looked.flatMap((row) => (row.governed ? groupOf(row, row.alive * weight) : [])),
    ],
    exact: false,
  };
}

function sum(rows: readonly GroupRow[], column: "schedules" | "alive", governed: boolean): number {
  return rows.reduce((all, row) => all + (row.governed === governed ? row[column] : 0), 0);
}

/** A power of two, so that a part of a hash's bits tells which. */
function oneIn(rows: number): number {
  return 2 ** Math.max(0, Math.round(Math.log2(rows / sampleOf)));
}

function rowsWithin(tx: Tx, { from, end }: Span) {
  return tx`
    select p.due_at, p.occurrence, p.schedule_id, p.every_ms, p.version, p.cadence_id, p.governed is not null as governed
    from carillon.plan p join carillon.shards s on s.id = p.shard
    where p.due_at >= ${from} and p.due_at >= s.watermark_at and (p.due_at, p.schedule_id) > (s.watermark_at, s.watermark_schedule) and p.due_at < ${end}
    union all
    select f.due_at, f.occurrence, f.schedule_id, f.every_ms, f.version, f.cadence_id, f.governed is not null
    from carillon.shards s join carillon.plan_far f on f.shard = s.id
    where f.due_at < ${end}`;
}

interface GroupRow extends Pick<CadenceColumns, "expression" | "zone" | "dst" | "calendarOn" | "rules"> {
  due: Date;
  /** Plan rows; of which so many still count. */
  schedules: number;
  alive: number;
  governed: boolean;
  /** Of governed rows that still count: the slot, with the spread and key that move due before it, and whether a hold ends with it. */
  own: [slot: string | null, spread: string | null, key: string | null, release: string] | null;
  cadenceId: number | null;
  occurrence: Date | null;
  everyMs: number | null;
}

/** Every row, for next to nothing each: only what its own columns tell. */
function readCounted(tx: Tx, span: Span): PromiseLike<GroupRow[]> {
  return withCadences(
    tx,
    tx`
      select min(due_at) as due, count(*)::int as schedules, 0 as alive, governed, null::text[] as own, cadence_id,
        case when cadence_id is not null then occurrence end as occurrence, ${repeating(tx, span)} as every_ms
      from (${rowsWithin(tx, span)}) p group by cadence_id, governed, 7, 8, ${stretch(tx, span)}`,
  );
}

/** Of each kind one in so many rows, looked up. */
function readLooked(
  tx: Tx,
  span: Span,
  sample: { plain: number; governed: number },
): PromiseLike<GroupRow[]> {
  return withCadences(
    tx,
    tx`
      select min(p.due_at) as due, count(*)::int as schedules, count(*) filter (where p.alive)::int as alive, p.governed, p.own, p.cadence_id,
        case when p.cadence_id is not null or p.own[3] is not null then p.occurrence
          when p.own[1] is not null then date_bin('1 second', p.occurrence + interval '999 milliseconds', 'epoch') end as occurrence,
        case when p.own[1] is not null then p.every_ms else ${repeating(tx, span)} end as every_ms
      from (
        select p.*, case when p.governed then p.own is not null
          else exists (select from carillon.schedules s where s.id = p.schedule_id and s.version = p.version and coalesce(s.deleted_at, 'infinity') = 'infinity' offset 0) end as alive
        from (
          select p.*, case when p.governed then ${ownColumn(tx)} end as own from (${rowsWithin(tx, span)}) p
          where hashint8(p.schedule_id) & case when p.governed then ${sample.governed - 1}::int else ${sample.plain - 1}::int end = 0
        ) p
      ) p
      group by p.cadence_id, p.governed, p.own, 7, 8, ${stretch(tx, span)}`,
  );
}

/** Whether it may fire again before the end. */
const repeating = (tx: Tx, { now, end }: Span) =>
  tx`case when every_ms < ${end.getTime() - now.getTime()}::bigint then every_ms end`;

const stretch = (tx: Tx, { now, end }: Span) => tx`
  date_bin(case when every_ms < ${Math.min(coarseFromMs, end.getTime() - now.getTime())}::bigint then interval '1 second' else interval '1 minute' end,
    due_at, 'epoch')`;

/** The column of a governed row that is looked up; a slot is in whole seconds, so that an occurrence may be rounded up to one. */
const ownColumn = (tx: Tx) => tx`
  (select array[v.body ->> 'slot', case when v.body ->> 'slot' is not null then v.body ->> 'spread' end,
      case when v.body ->> 'slot' is not null and v.body ->> 'spread' is not null then s.key end, (s.held_until is not distinct from p.due_at)::text]
    from carillon.schedules s join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    where s.id = p.schedule_id and s.version = p.version and coalesce(s.deleted_at, 'infinity') = 'infinity' offset 0)`;

function withCadences(tx: Tx, groups: ReturnType<typeof rowsWithin>): PromiseLike<GroupRow[]> {
  return tx<GroupRow[]>`
    select g.due, g.schedules, g.alive, g.governed, g.own, g.cadence_id as "cadenceId", g.occurrence, g.every_ms::float8 as "everyMs",
      c.expression, c.timezone as zone, c.dst, c.calendar_on as "calendarOn", r.rules
    from (${groups}) g
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
