import type { Sql, Tx } from "../db/connect.ts";
import { lockPlan } from "../db/locks.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { type Fired, fire } from "../plan/fire.ts";
import { type GovernedRow, unfoldGoverned } from "../plan/governed-rows.ts";
import { momentOf, unfold } from "../plan/instants.ts";
import { fireRelease } from "../plan/release.ts";
import { horizonMs, missedAfterMs, readShard, type ShardState } from "../plan/shard.ts";
import type { UnfoldedRow } from "../plan/unfolded-rows.ts";
import { type CadenceColumns, sharedCadence } from "../schedule/cadence-columns.ts";
import type { StoredSchedule } from "../schedule/stored-schedule.ts";
import { plainCatchUp } from "../schedule/timetable.ts";

export interface Batch extends Fired {
  /** True when the shard is planned up to the horizon. */
  done: boolean;
  shard: number;
}

const greatestSchedule = "9223372036854775807";

/**
 * One batch of one shard, in one transaction: plan lock, then the watermark and the clock, then the cron cadences, then
 * everything else in one statement, then the watermark. The lock is a statement of its own: read together with it, the
 * watermark would come from before the lock, and what another tick has just done would be done over or passed over.
 */
export function fireShardBatch(sql: Sql, shard: number, batchMax: number): Promise<Batch> {
  return sql.begin(async (tx) => {
    const [, state] = await Promise.all([lockPlan(tx, shard), readShard(tx, shard)]);
    // Never past the near plan: what is due beyond it may still wait in the far table, and the watermark would pass it over.
    const horizon = new Date(Math.min(state.now.getTime() + horizonMs, state.nearUntil.getTime() - 1));
    const nothing = {
      shard,
      taken: 0,
      lastDueAt: null,
      lastSchedule: null,
      jobs: 0,
      parcels: [],
      done: true,
    };
    if (isReached(state, horizon)) return nothing;
    const { rows, unfolded, releases, size } = await lookAhead(tx, state, horizon, rowsMax(state, batchMax));
    // Most shards of a small installation have nothing due in most minutes, and planning the statement below is what then costs.
    if (rows === 0) {
      await raiseWatermark(tx, shard, horizon, greatestSchedule, horizon);
      return nothing;
    }
    const released: OutgoingParcel[] = [];
    for (const schedule of releases)
      released.push(...(await fireRelease(tx, state, schedule, schedule.version)).parcels);
    const fired = await fire(tx, {
      source: tx`select due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed, governed is not null as own,
          ${horizon}::timestamptz as bound
        from (${nextRows(tx, state, horizon, size)}) rows`,
      shard,
      now: state.now,
      nearUntil: state.nearUntil,
      unfolded,
    });
    const done = fired.taken < size;
    await raiseWatermark(
      tx,
      shard,
      done ? horizon : fired.lastDueAt,
      done ? greatestSchedule : fired.lastSchedule,
      horizon,
    );
    return {
      ...fired,
      parcels: [...fired.parcels, ...released.map((parcel) => ({ ...parcel, rated: null }))],
      shard,
      done,
    };
  });
}

/** The watermark is a pair: a batch may have ended between two schedules that are due at the horizon itself. */
function isReached({ watermarkAt, watermarkSchedule }: ShardState, horizon: Date): boolean {
  return watermarkAt > horizon || (watermarkAt >= horizon && watermarkSchedule === greatestSchedule);
}

/**
 * The rows beyond the watermark up to the horizon, in order. `with ties`: two rows may share due and schedule (an edit's
 * old and new version), and a limit between them would let the watermark pass over the second.
 */
function nextRows(tx: Tx, state: ShardState, horizon: Date, batchMax: number) {
  return tx`
    select * from carillon.plan
    where shard = ${state.shard} and (due_at, schedule_id) > (${state.watermarkAt}, ${state.watermarkSchedule}::bigint)
      and due_at >= ${state.watermarkAt} and due_at <= ${horizon}
    order by due_at, schedule_id
    fetch first ${batchMax} rows with ties`;
}

const longLagMs = 3_600_000;
const laggingRowsMax = 500;

/** After hours without a tick each cron has thousands of missed occurrences to be counted, and its shard is locked meanwhile. */
function rowsMax({ now, watermarkAt }: ShardState, batchMax: number): number {
  return now.getTime() - watermarkAt.getTime() > longLagMs ? Math.min(batchMax, laggingRowsMax) : batchMax;
}

/** One statement makes about so many jobs at most: a short interval has many within the horizon, and the shard's edits wait. */
const jobsMax = 25_000;

interface Look extends Pick<CadenceColumns, "expression" | "zone" | "dst" | "calendarOn" | "rules"> {
  rows: number;
  governed: number;
  /** Jobs of intervals and one-offs, as far as arithmetic tells. */
  jobs: number;
  cadenceId: number | null;
  planned: Date | null;
  plannedDue: Date | null;
}

interface LookedAhead {
  rows: number;
  unfolded: UnfoldedRow[];
  releases: StoredSchedule[];
  size: number;
}

/**
 * Looks at the plan rows of the coming batch alone: unfolds each distinct (cadence, occurrence, due) once, and each row with
 * rules of its own by itself; and makes the batch smaller where its rows would become too many jobs.
 */
async function lookAhead(tx: Tx, state: ShardState, horizon: Date, batchMax: number): Promise<LookedAhead> {
  const missedBefore = new Date(state.now.getTime() - missedAfterMs);
  const looks = await tx<Look[]>`
    select d.rows, d.governed, d.jobs, d.planned, d.due as "plannedDue", c.id as "cadenceId", c.expression, c.timezone as zone,
      c.dst, c.calendar_on as "calendarOn", r.rules
    from (
      select case when governed is null then cadence_id end as cadence_id,
        case when cadence_id is not null and governed is null then occurrence end as planned,
        case when cadence_id is not null and governed is null then due_at end as due,
        count(*)::int as rows, count(governed)::int as governed,
        sum(case when every_ms is null or due_at + every_ms * interval '1 millisecond' > ${horizon} then 1
          else 1 + floor(extract(epoch from ${horizon}::timestamptz - greatest(due_at, ${missedBefore}::timestamptz)) * 1000 / every_ms) end)::float8 as jobs
      from (${nextRows(tx, state, horizon, batchMax)}) rows group by 1, 2, 3
    ) d left join carillon.cadences c on c.id = d.cadence_id left join carillon.calendar_versions r on r.id = c.calendar_version`;
  const unfolded = looks.flatMap((look) => unfoldShared(look, state, horizon));
  const rows = looks.reduce((sum, look) => sum + look.rows, 0);
  const jobs = looks.reduce((sum, look) => sum + (look.cadenceId === null ? look.jobs : 0), 0);
  const shared = looks.filter(({ cadenceId }) => cadenceId !== null);
  const sharedJobs = shared.reduce((sum, { rows: of }, index) => sum + of * instantsIn(unfolded[index]), 0);
  const all = jobs + sharedJobs;
  const size = all <= jobsMax ? batchMax : Math.max(1, Math.floor((rows * jobsMax) / all));
  if (!looks.some(({ governed }) => governed > 0)) return { rows, unfolded, releases: [], size };
  const governed = await unfoldGoverned(
    tx,
    state,
    await governedRows(tx, state, horizon, size),
    horizon,
    jobsMax,
  );
  return {
    rows,
    unfolded: [...unfolded, ...governed.unfolded],
    releases: governed.releases,
    size: governed.jobs > jobsMax && governed.last !== null ? governed.last : size,
  };
}

function governedRows(tx: Tx, state: ShardState, horizon: Date, size: number): PromiseLike<GovernedRow[]> {
  return tx<GovernedRow[]>`
    select place, schedule_id as "scheduleId", version, occurrence, due_at as "dueAt" from (
      select row_number() over (order by due_at, schedule_id)::int as place, rows.* from (${nextRows(tx, state, horizon, size)}) rows
    ) placed where governed order by place`;
}

function unfoldShared(look: Look, { now }: ShardState, horizon: Date): UnfoldedRow[] {
  const { cadenceId, planned, plannedDue } = look;
  if (cadenceId === null || planned === null || plannedDue === null) return [];
  const lagMs = plannedDue.getTime() - planned.getTime();
  const timetable = {
    cadence: sharedCadence(look),
    lagMs,
    slotMs: null,
    catchUp: plainCatchUp,
    firesLeft: null,
  };
  const moment = momentOf(timetable, { now: now.getTime(), bound: horizon.getTime(), missedAfterMs });
  return [
    {
      ...unfold(timetable, planned.getTime(), moment),
      key: { cadenceId },
      planned,
      plannedDue,
      limited: false,
    },
  ];
}

function instantsIn(row: UnfoldedRow | undefined): number {
  return row === undefined ? 0 : row.runs.length + row.passed.length;
}

async function raiseWatermark(
  tx: Tx,
  shard: number,
  at: Date | null,
  schedule: string | null,
  reached: Date,
): Promise<void> {
  await tx`
    update carillon.shards
    set watermark_at = ${at}, watermark_schedule = ${schedule}, reached_at = greatest(reached_at, ${reached})
    where id = ${shard}`;
}
