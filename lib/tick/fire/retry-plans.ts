import { unreadableReason } from "../../cadence/cadence.ts";
import { boundStatements } from "../../db/bounded.ts";
import type { Tx } from "../../db/connect.ts";
import { notePassedUnderHolds } from "../../edit/ended-hold.ts";
import { withOwed } from "../../edit/held-from.ts";
import { lockForChange } from "../../edit/lock-for-change.ts";
import { handOver } from "../../parcel/hand-over.ts";
import type { OutgoingParcel } from "../../parcel/parcel-queue.ts";
import { asideOf, owedOf } from "../../plan/aside.ts";
import { takeOutPassed } from "../../plan/far-rows.ts";
import { momentOf } from "../../plan/instants.ts";
import { planFrom, plannedOf } from "../../plan/plan-schedule.ts";
import { endsByItself, fireRelease, planBeyondHold } from "../../plan/release.ts";
import { missedAfterMs, readShard, type ShardState } from "../../plan/shard.ts";
import { unfoldingInTime } from "../../plan/unfolding-time.ts";
import { blameOnceLocked, inHalves, OfNoRow } from "../../quarantine/in-halves.ts";
import { type Failed, letGo, logSetAside, setAside } from "../../quarantine/quarantine.ts";
import { allListedAgain, putAside } from "../../quarantine/try-rows.ts";
import {
  lockSchedules,
  refuseOtherMoment,
  type StoredSchedule,
} from "../../schedule/stored/stored-schedule.ts";
import { afterFires } from "../../schedule/stored/timetable.ts";
import type { Run } from "../run.ts";

/** Schedules planned in one transaction, during which claims and edits of their shard wait. */
const together = 100;

/**
 * Plans schedules in quarantine again whose retry is due, from the occurrence at which they failed.
 * The catch-up policy decides which occurrences still run, as after a time without ticks. Edits of
 * such a schedule do the same, whichever comes first. If the locks of a shard are not granted, the
 * shard is left until the next tick.
 */
export async function retryPlans(run: Run): Promise<void> {
  const locked = new Set<number>();
  for (let tried: DuePlan[] = []; ; ) {
    const due = await duePlans(run, [...locked]);
    if (due.length === 0 || allListedAgain(tried, due)) return;
    tried = due;
    for (const [shard, ofShard] of Map.groupBy(due, (each) => each.shard)) {
      if (run.timeIsUp()) return;
      const ids = ofShard.map(({ item }) => item);
      if (!(await retryShard(run, shard, ids))) locked.add(shard);
    }
  }
}

interface DuePlan {
  item: string;
  shard: number;
}

/** Length of the log text of an item that was written by hand. */
const oddShownMax = 100;

const number = "^[0-9]{1,18}$";

/**
 * Finds due entries. An entry is deleted if its schedule is gone, or if its item was edited by hand
 * and is not a number: such entries have no shard. Every entry of a page is deleted or postponed,
 * so pages end. An entry that another transaction has locked is skipped: its retry has to delete
 * it, and all schedules of the retry's transaction would wait for the lock.
 */
async function duePlans({ sql, log }: Run, locked: readonly number[]): Promise<DuePlan[]> {
  const due = await sql<(Omit<DuePlan, "shard"> & { shard: number | null; isOdd: boolean })[]>`
    select q.item, s.shard, q.item !~ ${number} as "isOdd" from carillon.quarantine q
    left join carillon.schedules s on s.id = case when q.item ~ ${number} then q.item::bigint end and s.deleted_at is null
    where q.consumer = 'plan' and q.next_at <= (select carillon.clock()) and coalesce(s.shard <> all(${[...locked]}::int[]), true)
    order by q.next_at limit ${together * 10} for update of q skip locked`;
  for (const { item, isOdd } of due)
    if (isOdd) log.error("quarantine.dropped", { consumer: "plan", item: item.slice(0, oddShownMax) });
  const gone = due.flatMap(({ item, shard }) => (shard === null ? [item] : []));
  await letGo(sql, "plan", gone);
  return due.flatMap(({ item, shard }) => (shard === null ? [] : [{ item, shard }]));
}

/** Retries schedules of one shard. False if the locks of the shard are not granted. */
async function retryShard(run: Run, shard: number, ids: readonly string[]): Promise<boolean> {
  const { sql, queue, log } = run;
  for (let at = 0; at < ids.length; at += together) {
    const retry = async (part: readonly string[]) => {
      const { parcels, stillFailing } = await blameOnceLocked((noteLocked) =>
        unfoldingInTime(queue.timing, part.length, () =>
          sql.begin((tx) => retryTogether(tx, shard, part, noteLocked)),
        ),
      );
      logSetAside(log, "plan", stillFailing);
      await handOver(sql, queue, parcels);
    };
    try {
      const { failed } = await inHalves(ids.slice(at, at + together), retry, run.timeIsUp);
      const entries = failed.map(({ item, error }) => ({ item, scheduleId: item, error }));
      await putAside({ sql, log, consumer: "plan" }, entries);
    } catch (error) {
      if (!(error instanceof OfNoRow)) throw error;
      run.note(error.cause);
      return false;
    }
  }
  return true;
}

async function retryTogether(tx: Tx, shard: number, ids: readonly string[], noteLocked: () => void) {
  const [, , schedules, state] = await Promise.all([
    boundStatements(tx),
    lockForChange(tx, { shards: [shard], noteLocked, waitingForRows: ids.length }),
    lockSchedules(tx, ids),
    readShard(tx, shard),
  ]);
  refuseOtherMoment(schedules);
  const parcels: OutgoingParcel[] = [];
  const failing: Failed[] = [];
  for (const schedule of schedules) {
    const reason = waitsStill(schedule, state);
    if (isUnderHold(schedule)) parcels.push(...(await planUnderHold(tx, state, withOwed(schedule))));
    else if (reason === null) parcels.push(...(await planAgain(tx, state, schedule)));
    else failing.push({ item: schedule.id, scheduleId: schedule.id, error: new Error(reason) });
  }
  const waiting = new Set(failing.map(({ item }) => item));
  await takeOutPassed(
    tx,
    state,
    schedules.filter(({ id }) => !waiting.has(id)),
  );
  await letGo(
    tx,
    "plan",
    ids.filter((id) => !waiting.has(id)),
  );
  return { parcels, stillFailing: await setAside(tx, "plan", failing) };
}

function waitsStill(schedule: StoredSchedule, { now }: ShardState): string | null {
  const aside = asideOf(schedule);
  if (aside === null) return null;
  const { heldSince, heldUntil, cadence } = schedule;
  const isHeld = heldSince !== null && (heldUntil === null || heldUntil > now);
  return unreadableReason(cadence) ?? (isHeld && aside.heldSince === null ? "The schedule is held." : null);
}

/** Whether all occurrences to plan were due before the end of the hold, which releases them. */
function isUnderHold(schedule: StoredSchedule): boolean {
  const { heldSince, heldUntil, cadence } = schedule;
  if (heldSince === null || unreadableReason(cadence) !== null) return false;
  if (asideOf(schedule)?.heldSince !== null) return false;
  return owedOf(schedule).every(({ dueAt }) => heldUntil === null || dueAt <= heldUntil);
}

/**
 * Plans a schedule that is held. Nothing of its version is planned yet, because the cadence was
 * unreadable when the version began.
 */
async function planUnderHold(tx: Tx, state: ShardState, schedule: StoredSchedule): Promise<OutgoingParcel[]> {
  const { id, heldSince: since, heldUntil: until } = schedule;
  if (since === null) return [];
  await tx`update carillon.schedules set held_since = ${since} where id = ${id}`;
  const held = { since, until };
  return endsByItself(held) ? planBeyondHold(tx, state, schedule, plannedOf(schedule), held) : [];
}

async function planAgain(tx: Tx, state: ShardState, schedule: StoredSchedule): Promise<OutgoingParcel[]> {
  const planned = plannedOf(schedule);
  let { timetable } = planned;
  const parcels: OutgoingParcel[] = [];
  const now = state.now.getTime();
  // There are none if an edit has planned a new version since.
  for (const { occurrence, held, unnoted } of owedOf(schedule)) {
    if (held !== null) {
      const released = await fireRelease(tx, state, { ...schedule, ...held }, schedule.version);
      parcels.push(...released.parcels);
      if (unnoted !== null) await notePassedUnderHolds(tx, [{ schedule, ...unnoted }], state);
      timetable = afterFires(timetable, released.made);
      continue;
    }
    const { upTo: _, ...moment } = momentOf(timetable, { now, bound: now, missedAfterMs });
    parcels.push(...(await planFrom(tx, state, { ...planned, timetable }, occurrence.getTime(), moment)));
  }
  return parcels;
}
