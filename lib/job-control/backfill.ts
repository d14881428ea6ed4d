import type { Sql, Tx } from "../db/connect.ts";
import { jobsOf } from "../history/job-history.ts";
import { runsForward, segmentsWithin } from "../history/version-segments.ts";
import type { JobPlace } from "../job/job-place.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { OutgoingParcel, ParcelQueue } from "../parcel/parcel-queue.ts";
import { admitTurns, rowMax, turnMax } from "../plan/backlog.ts";
import { plannedUpTo, readShard, type ShardState } from "../plan/shard.ts";
import { Refusal } from "../refusal.ts";
import { missingSchedule } from "../schedule/moved-away.ts";
import { type Caller, originText } from "../schedule/shape/caller.ts";
import { findSchedule, lockSchedule, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";

export interface BackfillParams {
  key: string;
  from: Date;
  to: Date;
  /** Limit of occurrences to check, the oldest first. */
  limit: number;
  caller: Caller;
}

export interface BackfillDone {
  /** Occurrences that get a job. */
  accepted: number;
  /** Occurrences that have run or already wait to run. */
  existing: number;
  from: Date;
  /** End of the checked range: never beyond the occurrences that ticks and holds have decided. */
  to: Date;
  /** Start of the next call, if there are more occurrences than the limit. */
  next: Date | null;
}

export const backfillMax: number = rowMax;

/**
 * Creates jobs for past occurrences that did not run, by the versions that were in force. Each
 * occurrence gets at most one, also if the backfill is repeated. The jobs are made at the pace of
 * the backlog, the first of them at once.
 */
export async function backfillSchedule(
  { sql, queue }: { sql: Sql; queue: ParcelQueue },
  params: BackfillParams,
): Promise<BackfillDone> {
  const { done, parcels } = await sql.begin((tx) => backfillOnce(tx, params));
  await handOver(sql, queue, parcels);
  return done;
}

async function backfillOnce(
  tx: Tx,
  params: BackfillParams,
): Promise<{ done: BackfillDone; parcels: OutgoingParcel[] }> {
  const found = await findSchedule(tx, params.key);
  // Locked until the commit: another backfill of the same schedule must see this one's backlog row.
  const schedule = found === null ? null : await lockSchedule(tx, found.id);
  if (schedule === null) throw await missingSchedule(tx, params.key);
  const state = await readShard(tx, schedule.shard);
  refuseImpossible(params, schedule, state.now, await keptFrom(tx));
  const upTo = Math.min(params.to.getTime(), decidedUpTo(schedule, state), await lastFire(tx, schedule));
  const range = await occurrencesIn(tx, schedule.id, {
    from: params.from.getTime(),
    to: upTo,
    limit: params.limit,
  });
  const missing = await withoutRun(tx, schedule.id, range.occurrences);
  const parcels = await owe(tx, schedule, missing, state.now);
  const done: BackfillDone = {
    accepted: missing.length,
    existing: range.occurrences.length - missing.length,
    from: params.from,
    to: new Date(Math.max(range.upTo, params.from.getTime())),
    next: range.next === null ? null : new Date(range.next),
  };
  await audit(tx, schedule, params, done, state.now);
  return { done, parcels };
}

function refuseImpossible(
  { from, to }: BackfillParams,
  { createdAt, body }: StoredSchedule,
  now: Date,
  kept: Date,
): void {
  if (body.delivery === "pulse")
    throw new Refusal(
      "impossible",
      "A pulse cannot be backfilled: Carillon keeps no record of its occurrences.",
    );
  const faults = [
    ...(from < createdAt
      ? [
          {
            path: "from",
            message: `must not be before the schedule was created, at ${createdAt.toISOString()}`,
          },
        ]
      : []),
    ...(from < kept
      ? [
          {
            path: "from",
            message: `must not be before the oldest day whose jobs are kept, ${kept.toISOString()}`,
          },
        ]
      : []),
    ...(to > now ? [{ path: "to", message: `must not be in the future: it is ${now.toISOString()}` }] : []),
  ];
  if (faults.length > 0) throw new Refusal("impossible", "This range cannot be backfilled.", faults);
  if (to < from) {
    throw new Refusal("invalid", "The backfill is not understood.", [
      { path: "to", message: "must not be before `from`" },
    ]);
  }
}

async function keptFrom(tx: Tx): Promise<Date> {
  const [row] = await tx<{ keptFrom: Date }[]>`select kept_from as "keptFrom" from carillon.retention`;
  if (row === undefined) throw new Error("carillon.retention has no row.");
  return row.keptFrom;
}

/**
 * End of the range in which no further occurrence can get a cadence job. Beyond it the ticks lag
 * behind, or a hold is active whose end decides about its occurrences.
 */
function decidedUpTo(schedule: StoredSchedule, state: ShardState): number {
  const { heldSince, heldUntil } = schedule;
  const timetable = timetableOf(schedule);
  const planned = Math.min(state.now.getTime(), plannedUpTo(state, schedule.id).getTime());
  const undecided = heldSince !== null && (heldUntil === null || heldUntil.getTime() > planned);
  return occurrenceDueBy(timetable, undecided ? Math.min(planned, heldSince.getTime()) : planned);
}

const pagesMax = 50;

/** The last occurrence of a schedule whose fires are used up; infinity for every other schedule. */
async function lastFire(tx: Tx, schedule: StoredSchedule): Promise<number> {
  if (timetableOf(schedule).firesLeft !== 0) return Number.POSITIVE_INFINITY;
  const [owed] = await tx<{ at: Date | null }[]>`
    select max(occurrences[cardinality(occurrences)]) as at from carillon.backlog where schedule_id = ${schedule.id} and kind = 'cadence'`;
  let last = owed?.at?.getTime() ?? Number.NEGATIVE_INFINITY;
  let before: JobPlace | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const { items, next } = await jobsOf(tx, schedule, { limit: 100, before });
    const fired = items.find(({ kind, state }) => kind === "cadence" && state !== "skipped");
    if (fired !== undefined) last = Math.max(last, fired.occurrence.getTime());
    if (fired !== undefined || next === undefined) break;
    before = next;
  }
  return last;
}

/** The oldest occurrences in the range, up to the limit; `upTo` is the end of the searched part. */
async function occurrencesIn(
  tx: Tx,
  scheduleId: string,
  { from, to, limit }: { from: number; to: number; limit: number },
): Promise<{ occurrences: Date[]; upTo: number; next: number | null }> {
  if (to < from) return { occurrences: [], upTo: to, next: null };
  const { segments, upTo } = await segmentsWithin(tx, scheduleId, { from, to });
  const occurrences: Date[] = [];
  for (const at of runsForward(segments, from, upTo)) {
    if (occurrences.length === limit)
      return { occurrences, upTo: occurrences.at(-1)?.getTime() ?? from, next: at };
    occurrences.push(new Date(at));
  }
  return { occurrences, upTo, next: upTo < to ? upTo + 1 : null };
}

/**
 * The occurrences that have not run and do not wait to run, as cadence or as backfill: each is
 * probed by its primary keys. Those from before a move count as run, since only the installation
 * that had the schedule then knows.
 */
async function withoutRun(tx: Tx, scheduleId: string, occurrences: Date[]): Promise<Date[]> {
  const rows = await tx<{ occurrence: Date }[]>`
    with wanted as materialized (
      select * from unnest(${tx.array(occurrences)}::timestamptz[]) w (occurrence)
    ), owed as materialized (
      select o as occurrence from carillon.backlog b cross join lateral unnest(b.occurrences[b.taken + 1 :]) o
      where b.schedule_id = ${scheduleId} and b.next_occurrence <= ${occurrences.at(-1) ?? null}
        and b.occurrences[cardinality(b.occurrences)] >= ${occurrences[0] ?? null}
    )
    select w.occurrence from wanted w
    left join lateral (
      select true as found from carillon.jobs j
      where j.occurrence = w.occurrence and j.schedule_id = ${scheduleId} and j.n = 0
        and (j.kind = 'backfill' or (j.kind = 'cadence' and j.state <> 'skipped'))
      limit 1) ran on true
    where ran.found is null and not exists (select from owed o where o.occurrence = w.occurrence)
      and not exists (
        select from carillon.passed_over p
        where p.schedule_id = ${scheduleId} and p.to_at >= w.occurrence and p.from_at <= w.occurrence and p.reason = 'moved')
    order by 1`;
  return rows.map(({ occurrence }) => occurrence);
}

/**
 * Puts the occurrences into the backlog as due now. As due at their own instants they would count as
 * hours or days late.
 */
async function owe(
  tx: Tx,
  { id, shard, version }: StoredSchedule,
  occurrences: Date[],
  now: Date,
): Promise<OutgoingParcel[]> {
  if (occurrences.length === 0) return [];
  const [row] = await tx<{ id: string }[]>`
    insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, turn_at, noted_at)
    values (${id}, ${shard}, 'backfill', ${version}, ${tx.array(occurrences)}::timestamptz[],
      array_fill(${now}::timestamptz, array[${occurrences.length}::int]), ${now}, ${now})
    returning id`;
  if (row === undefined) throw new Error("The backlog took no row.");
  const take = Math.min(occurrences.length, turnMax);
  return admitTurns(tx, [{ id: row.id, take }], { from: now, perSecond: turnMax, ahead: 0 });
}

async function audit(
  tx: Tx,
  { id, key, version }: StoredSchedule,
  { caller }: BackfillParams,
  { accepted, existing, from, to }: BackfillDone,
  now: Date,
): Promise<void> {
  await tx`
    insert into carillon.audit (at, actor, action, subject, schedule_id, version, detail, origin)
    values (${now}, ${caller.name}, 'schedule.backfilled', ${key}, ${id}, ${version},
      ${JSON.stringify({ accepted, existing, from, to })}::text::jsonb, ${originText(caller)}::text::jsonb)`;
}
