import { durationMs } from "../cadence/duration.ts";
import type { Tx } from "../db/connect.ts";
import { type CadenceColumns, sharedCadence } from "../schedule/stored/cadence-columns.ts";
import { spreadOffset } from "../schedule/stored/timetable.ts";
import { type Contributor, namesOf } from "./contributors.ts";
import type { PlannedGroup } from "./planned-group.ts";

export interface Planned {
  groups: PlannedGroup[];
  /**
   * The groups by contributor, if contributors were asked for: of a sample, with the weight of the
   * rows that it stands for.
   */
  named: PlannedGroup[];
  /** Whether every row was read. If not, a sample was, and the counts are estimates. */
  exact: boolean;
}

/**
 * Up to this many rows, all are read. If there are more, a sample is read that estimates a fraction
 * of the rows within two percent.
 */
const exactMax = 20_000;
const sampleOf = 2_500;

/**
 * Intervals from this length on are grouped by the minute in which they are due, and may be shown a
 * minute early or late.
 */
const coarseFromMs = 600_000;

/** The time of the forecast; `from` is the slowest shard's watermark. */
export interface Span {
  now: Date;
  from: Date;
  end: Date;
}

/**
 * The plan beyond the watermarks and before the end, in groups. The index by shard and due time
 * finds the rows. Whether a row is of an older version, and which rules a governed row has, is
 * looked up in the schedule.
 */
export async function readPlanned(tx: Tx, span: Span, by?: Contributor): Promise<Planned> {
  if (await hasFewRows(tx, span)) {
    const looked = await readLooked(tx, span, { plain: 1, governed: 1, by });
    const groups = looked.flatMap((row) => groupOf(row, row.alive));
    return { groups, named: by === undefined ? [] : groups, exact: true };
  }
  const all = await readCounted(tx, span);
  const rows = { plain: sum(all, "schedules", false), governed: sum(all, "schedules", true) };
  const sample = { plain: oneIn(rows.plain), governed: oneIn(rows.governed), by };
  const looked = await readLooked(tx, span, sample);
  const share = sum(looked, "alive", false) / sum(looked, "schedules", false);
  const weight = rows.governed / sum(looked, "schedules", true);
  const plainWeight = rows.plain / sum(looked, "schedules", false);
  return {
    named:
      by === undefined
        ? []
        : looked.flatMap((row) => groupOf(row, row.alive * (row.governed ? weight : plainWeight))),
    groups: [
      ...all.flatMap((row) => (row.governed ? [] : groupOf(row, row.schedules * share))),
      ...looked.flatMap((row) => (row.governed ? groupOf(row, row.alive * weight) : [])),
    ],
    exact: false,
  };
}

/** Whether so few rows are planned before the end that each of them can be read. */
export async function hasFewRows(tx: Tx, span: Span): Promise<boolean> {
  const [few] = await tx<{ rows: number }[]>`
    select count(*)::int as rows from (select from (${rowsWithin(tx, span)}) p limit ${exactMax + 1}::int) r`;
  return (few?.rows ?? 0) <= exactMax;
}

function sum(rows: readonly GroupRow[], column: "schedules" | "alive", governed: boolean): number {
  return rows.reduce((all, row) => all + (row.governed === governed ? row[column] : 0), 0);
}

/** A power of two, so that some bits of a hash select the sample. */
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
  /** Number of plan rows, also those of older versions. */
  schedules: number;
  /** Those whose schedule still exists in this version; 0 where schedules are not looked up. */
  alive: number;
  governed: boolean;
  /**
   * For governed rows that are alive: the slot, the spread and key that move the due time before
   * it, and whether the row is the end of a hold, and of which owner.
   */
  own:
    | [slot: string | null, spread: string | null, key: string | null, release: string, owner: string | null]
    | null;
  unmoved: boolean;
  names: string[] | null;
  cadenceId: number | null;
  occurrence: Date | null;
  everyMs: number | null;
  isInterval: boolean;
}

/**
 * Counts all plan rows without reading their schedules, which costs little per row. Intervals that
 * do not fire again before the end are one group for each minute: each length of its own would be
 * far more groups.
 */
function readCounted(tx: Tx, span: Span): PromiseLike<GroupRow[]> {
  return withCadences(
    tx,
    tx`
      select min(due_at) as due, count(*)::int as schedules, 0 as alive, governed, null::text[] as own, cadence_id,
        case when cadence_id is not null then occurrence end as occurrence,
        case when every_ms < ${span.end.getTime() - span.now.getTime()}::bigint then every_ms end as every_ms, every_ms is not null as is_interval,
        due_at = occurrence as unmoved, null::text[] as names
      from (${rowsWithin(tx, span)}) p group by cadence_id, governed, 7, 8, 9, 10, ${stretch(tx, span)}`,
  );
}

/**
 * Reads a sample of the plain rows and one of the governed rows, with their schedules. Occurrences
 * of rows with a slot are rounded up to a second, so that more rows fall into one group: slots are
 * in whole seconds, so the due time stays the same.
 */
function readLooked(
  tx: Tx,
  span: Span,
  { plain, governed, by }: { plain: number; governed: number; by: Contributor | undefined },
): PromiseLike<GroupRow[]> {
  const names =
    by === undefined
      ? tx`null::text[]`
      : tx`(select ${namesOf(tx, by)} from carillon.schedules s where s.id = p.schedule_id offset 0)`;
  return withCadences(
    tx,
    tx`
      select min(p.due_at) as due, count(*)::int as schedules, count(*) filter (where p.alive)::int as alive, p.governed, p.own, p.cadence_id,
        case when p.cadence_id is not null or p.own[3] is not null then p.occurrence
          when p.own[1] is not null then date_bin('1 second', p.occurrence + interval '999 milliseconds', 'epoch') end as occurrence,
        p.every_ms, p.every_ms is not null as is_interval, p.due_at = p.occurrence as unmoved, p.names
      from (
        select p.*, ${names} as names, case when p.governed then p.own is not null
          else exists (select from carillon.schedules s where s.id = p.schedule_id and s.version = p.version and coalesce(s.deleted_at, 'infinity') = 'infinity' offset 0) end as alive
        from (
          select p.*, case when p.governed then ${ownColumn(tx)} end as own from (${rowsWithin(tx, span)}) p
          where hashint8(p.schedule_id) & case when p.governed then ${governed - 1}::int else ${plain - 1}::int end = 0
        ) p
      ) p
      group by p.cadence_id, p.governed, p.own, p.names, 7, 8, 9, 10, ${stretch(tx, span)}`,
  );
}

const stretch = (tx: Tx, { now, end }: Span) => tx`
  date_bin(case when every_ms < ${Math.min(coarseFromMs, end.getTime() - now.getTime())}::bigint then interval '1 second' else interval '1 minute' end,
    due_at, 'epoch')`;

/** SQL: the `own` of a governed row; null for a row of an older version. */
const ownColumn = (tx: Tx) => tx`
  (select array[v.body ->> 'slot', case when v.body ->> 'slot' is not null then v.body ->> 'spread' end,
      case when v.body ->> 'slot' is not null and v.body ->> 'spread' is not null then s.key end, (s.held_until is not distinct from p.due_at)::text,
      case when s.held_until = p.due_at then (
        select min(h.owner) from carillon.holds h where h.schedule_id = s.id and h.until = s.held_until) end]
    from carillon.schedules s join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    where s.id = p.schedule_id and s.version = p.version and coalesce(s.deleted_at, 'infinity') = 'infinity' offset 0)`;

function withCadences(tx: Tx, groups: ReturnType<typeof rowsWithin>): PromiseLike<GroupRow[]> {
  return tx<GroupRow[]>`
    select g.due, g.schedules, g.alive, g.governed, g.own, g.cadence_id as "cadenceId", g.occurrence, g.every_ms::float8 as "everyMs", g.is_interval as "isInterval", g.unmoved, g.names,
      c.expression, c.timezone as zone, c.dst, c.calendar_on as "calendarOn", r.rules
    from (${groups}) g
    left join carillon.cadences c on c.id = g.cadence_id left join carillon.calendar_versions r on r.id = c.calendar_version`;
}

function groupOf(row: GroupRow, schedules: number): PlannedGroup[] {
  if (!(schedules > 0)) return [];
  const due = row.due.getTime();
  const [slot, spread, key, release, owner] = row.own ?? [null, null, null, "false", null];
  const names = row.names ?? [];
  // The end of a hold is one fire; the occurrence after it has a row of its own.
  if (release === "true") {
    const once = { cadence: null, everyMs: null, isInterval: false, slot: null, unmoved: false };
    return [{ due, schedules, ...once, release: { owner }, names }];
  }
  const occurrence = row.occurrence?.getTime() ?? due;
  const lagMs = spreadOffset(key ?? "", spread === null ? 0 : (durationMs(spread) ?? 0));
  const slotMs = slot === null ? null : durationMs(slot);
  return [
    {
      due,
      schedules,
      cadence: plannedCadence(row),
      everyMs: row.everyMs,
      isInterval: row.isInterval,
      slot: slotMs === null ? null : { slotMs, lagMs, occurrence },
      unmoved: row.unmoved && slotMs === null,
      release: null,
      names,
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
