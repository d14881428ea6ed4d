import { unreadableReason } from "../../cadence/cadence.ts";
import type { Tx } from "../../db/connect.ts";
import { isReadable, type PassedRow, unreadableRow } from "../../plan/aside.ts";
import { type GovernedRow, unfoldGoverned } from "../../plan/governed-rows.ts";
import { momentOf, unfold } from "../../plan/instants.ts";
import type { Release } from "../../plan/release.ts";
import { greatestSchedule, missedAfterMs, type ShardState } from "../../plan/shard.ts";
import type { UnfoldedRow } from "../../plan/unfolded-rows.ts";
import type { TooLong } from "../../plan/unfolding-time.ts";
import {
  type CadenceColumns,
  rulesOnce,
  sharedCadence,
  withSharedRules,
} from "../../schedule/stored/cadence-columns.ts";
import { plainCatchUp } from "../../schedule/stored/timetable.ts";

/** The last row of a batch, or the horizon after all rows. */
export interface Place {
  dueAt: Date;
  schedule: string;
}

export function beyondWatermark(tx: Tx, { shard, watermarkAt, watermarkSchedule }: ShardState, last: Place) {
  return tx`
    shard = ${shard} and (due_at, schedule_id) > (${watermarkAt}, ${watermarkSchedule}::bigint) and due_at >= ${watermarkAt}
      and (due_at, schedule_id) <= (${last.dueAt}, ${last.schedule}::bigint) and due_at <= ${last.dueAt}`;
}

/**
 * The rows between the watermark and the horizon, in order. `with ties`: two rows may share due
 * time and schedule (an edit's old and new version), and a limit between them would let the
 * watermark pass the second.
 */
function nextRows(tx: Tx, state: ShardState, horizon: Date, batchMax: number) {
  return tx`
    select * from carillon.plan where ${beyondWatermark(tx, state, { dueAt: horizon, schedule: greatestSchedule })}
    order by due_at, schedule_id
    fetch first ${batchMax} rows with ties`;
}

/**
 * Roughly the most jobs that one statement makes. A schedule with a short interval has many jobs
 * within the horizon, and edits of the shard wait for the statement.
 */
const jobsMax = 25_000;

interface Look
  extends Pick<CadenceColumns, "expression" | "zone" | "dst" | "calendarOn" | "calendarVersion" | "rules"> {
  rows: number;
  governed: number;
  /** Jobs of intervals and one-time schedules, by arithmetic. */
  jobs: number;
  cadenceId: number | null;
  planned: Date | null;
  plannedDue: Date | null;
  earliest: Date;
  lastDueAt: Date;
  lastSchedule: string;
}

export interface LookedAhead {
  /**
   * The number of plan rows that the batch takes, up to its limit, without the rows that tie with
   * the last one.
   */
  rows: number;
  unfolded: UnfoldedRow[];
  releases: Release[];
  /** Rows that could not be unfolded, as whole cadences and as single rows. They are set aside. */
  failed: { cadences: FailedCadence[]; rows: { row: PassedRow; error: unknown }[] };
  /** Whether some occurrences do not run. */
  somePassed: boolean;
  /** True if no row is left before the horizon. */
  done: boolean;
  /** Where the batch ends. */
  last: Place;
}

export interface LookParams {
  batchMax: number;
  tooLong: TooLong;
  /**
   * Called with the number of rows that the batch takes, once it is known and again if it shrinks.
   */
  onRows: (rows: number) => void;
}

/**
 * Reads the plan rows of the next batch. Unfolds each distinct (cadence, occurrence, due) once, and
 * each governed row by itself. Shrinks the batch if its rows would become too many jobs.
 */
export async function lookAhead(
  tx: Tx,
  state: ShardState,
  horizon: Date,
  { batchMax, tooLong, onRows }: LookParams,
): Promise<LookedAhead> {
  const missedBefore = new Date(state.now.getTime() - missedAfterMs);
  const read = await tx<Look[]>`
    with rows as materialized (${nextRows(tx, state, horizon, batchMax)})
    select d.rows, d.governed, d.jobs, d.earliest, d.planned, d.due as "plannedDue", l.due_at as "lastDueAt", l.schedule_id as "lastSchedule",
      c.id as "cadenceId", c.expression, c.timezone as zone, c.dst, c.calendar_on as "calendarOn",
      c.calendar_version as "calendarVersion", ${rulesOnce(tx)}
    from (
      select case when governed is null then cadence_id end as cadence_id,
        case when cadence_id is not null and governed is null then occurrence end as planned,
        case when cadence_id is not null and governed is null then due_at end as due,
        count(*)::int as rows, count(governed)::int as governed, min(due_at) as earliest,
        sum(case when every_ms is null or due_at + every_ms * interval '1 millisecond' > ${horizon} then 1
          else 1 + floor(extract(epoch from ${horizon}::timestamptz - greatest(due_at, ${missedBefore}::timestamptz)) * 1000 / every_ms) end)::float8 as jobs
      from rows group by 1, 2, 3
    ) d cross join (select due_at, schedule_id from rows order by due_at desc, schedule_id desc limit 1) l
    left join carillon.cadences c on c.id = d.cadence_id left join carillon.calendar_versions r on r.id = c.calendar_version`;
  const looks = withSharedRules(read);
  const rows = looks.reduce((sum, look) => sum + look.rows, 0);
  onRows(Math.min(rows, batchMax));
  const { shared, failed } = unfoldEach(looks, state, horizon, tooLong);
  const all = jobsOf(looks, shared);
  const size = all <= jobsMax ? batchMax : Math.max(1, Math.floor((rows * jobsMax) / all));
  const governed = looks.some((look) => look.governed > 0)
    ? await unfoldGoverned(tx, state, await governedRows(tx, state, horizon, size), {
        horizon,
        jobsMax,
        tooLong,
      })
    : { unfolded: [], releases: [], failed: [], jobs: 0, last: null };
  const taken = governed.jobs > jobsMax && governed.last !== null ? governed.last : size;
  const taking = Math.min(rows, taken, batchMax);
  onRows(taking);
  const unfolded = [...shared.values(), ...governed.unfolded];
  const [first] = looks;
  const behindAll = { dueAt: horizon, schedule: greatestSchedule };
  const done = first === undefined || rows < taken;
  return {
    rows: taking,
    unfolded,
    releases: governed.releases,
    failed: { cadences: failed, rows: governed.failed },
    somePassed:
      looks.some(({ earliest }) => earliest < missedBefore) ||
      unfolded.some(({ passed, ranges }) => passed.length > 0 || ranges.length > 0),
    done,
    last: done
      ? behindAll
      : taken === batchMax
        ? { dueAt: first.lastDueAt, schedule: first.lastSchedule }
        : ((await placeOf(tx, state, horizon, taken)) ?? behindAll),
  };
}

/** Identifies a plan row. */
export interface PlanRow {
  scheduleId: string;
  version: number;
  /** As text: dates outside the range of Date are not equal to each other. */
  occurrence: string;
  dueAt: Date;
}

/** The first row of the next batch, and the rows that tie with it. */
export function firstRows(tx: Tx, state: ShardState, horizon: Date): PromiseLike<PlanRow[]> {
  return tx<PlanRow[]>`
    select schedule_id as "scheduleId", version, occurrence::text, due_at as "dueAt" from (${nextRows(tx, state, horizon, 1)}) rows
    order by version, rows.occurrence`;
}

/** The position of the last of `size` rows, with its ties; null if there are no rows. */
async function placeOf(tx: Tx, state: ShardState, horizon: Date, size: number): Promise<Place | null> {
  const [place] = await tx<Place[]>`
    select due_at as "dueAt", schedule_id as schedule from (${nextRows(tx, state, horizon, size)}) rows
    order by due_at desc, schedule_id desc limit 1`;
  return place ?? null;
}

/**
 * Number of jobs of the rows that are not governed: by arithmetic for intervals and one-time
 * schedules, as unfolded for others.
 */
function jobsOf(looks: readonly Look[], shared: ReadonlyMap<Look, UnfoldedRow>): number {
  return looks.reduce(
    (sum, look) => sum + (look.cadenceId === null ? look.jobs : look.rows * instantsIn(shared.get(look))),
    0,
  );
}

function governedRows(tx: Tx, state: ShardState, horizon: Date, size: number): PromiseLike<GovernedRow[]> {
  return tx<GovernedRow[]>`
    select place, schedule_id as "scheduleId", version, occurrence, due_at as "dueAt" from (
      select row_number() over (order by due_at, schedule_id)::int as place, rows.* from (${nextRows(tx, state, horizon, size)}) rows
    ) placed where governed order by place`;
}

/**
 * Unfolds each distinct cadence once. A cadence that fails is set aside with its rows, and the
 * others go on.
 */
function unfoldEach(
  looks: readonly Look[],
  state: ShardState,
  horizon: Date,
  tooLong: TooLong,
): { shared: Map<Look, UnfoldedRow>; failed: FailedCadence[] } {
  const shared = new Map<Look, UnfoldedRow>();
  const failed: FailedCadence[] = [];
  tooLong.begin();
  for (const look of looks) {
    const { cadenceId, planned, plannedDue } = look;
    if (cadenceId === null || planned === null || plannedDue === null) continue;
    if (!isReadable(planned)) {
      failed.push({ cadenceId, error: unreadableRow(), rows: "unreadable" });
      continue;
    }
    try {
      shared.set(look, unfoldShared(look, { cadenceId, planned, plannedDue }, state, horizon));
    } catch (error) {
      failed.push({ cadenceId, error, rows: "all" });
    }
    tooLong.check();
  }
  // All rows of a failed cadence are set aside, also those that were unfolded from another
  // occurrence.
  const bad = new Set(failed.flatMap(({ cadenceId, rows }) => (rows === "all" ? [cadenceId] : [])));
  for (const look of shared.keys())
    if (look.cadenceId !== null && bad.has(look.cadenceId)) shared.delete(look);
  return { shared, failed };
}

export interface FailedCadence {
  cadenceId: number;
  error: unknown;
  /**
   * Which of its rows are at fault. A row with an unreadable occurrence does not affect the others.
   */
  rows: "all" | "unreadable";
}

function unfoldShared(
  look: Look,
  { cadenceId, planned, plannedDue }: { cadenceId: number; planned: Date; plannedDue: Date },
  { now }: ShardState,
  horizon: Date,
): UnfoldedRow {
  const cadence = sharedCadence(look);
  const reason = unreadableReason(cadence);
  if (reason !== null) throw new Error(reason);
  const lagMs = plannedDue.getTime() - planned.getTime();
  const timetable = {
    cadence,
    lagMs,
    slotMs: null,
    catchUp: plainCatchUp,
    firesLeft: null,
  };
  const moment = momentOf(timetable, { now: now.getTime(), bound: horizon.getTime(), missedAfterMs });
  return {
    ...unfold(timetable, planned.getTime(), moment),
    key: { cadenceId },
    planned,
    plannedDue,
    limited: false,
  };
}

function instantsIn(row: UnfoldedRow | undefined): number {
  return row === undefined ? 0 : row.runs.length + row.passed.length;
}
