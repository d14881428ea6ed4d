import { nextAfter, previousBefore, unreadableReason } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import { countWithin } from "../cadence/count-within.ts";
import type { Tx } from "../db/connect.ts";
import { withdraw, withdrawReleased, withdrawUnread } from "../job/withdraw.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { asideOf, asideOfRow, farNamesOf, owedOf, readOccurrence } from "../plan/aside.ts";
import { momentOf } from "../plan/instants.ts";
import type { Maker } from "../plan/make-later.ts";
import { noteRanges } from "../plan/note-passed.ts";
import { writePassedEvents } from "../plan/passed-events.ts";
import { pendingRows, plannedOf } from "../plan/plan-schedule.ts";
import { isRelease, unfoldHeld, withoutLimit } from "../plan/release.ts";
import { missedAfterMs, plannedUpTo, type ShardState } from "../plan/shard.ts";
import { counted } from "../plan/unfolding-time.ts";
import { isPulse } from "../schedule/shape/pulse-shape.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { afterFires, firstDueAfter, occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";
import { notePassedUnderHolds } from "./ended-hold.ts";

/** How a version ends. */
export interface VersionEnd {
  /**
   * Set if the cadence changes. Occurrences up to the cut may be due after it (`spread`, `slot`).
   * Only this version can plan these, so it does, and they keep their due time.
   */
  keepPending: boolean;
  /** Whether this transaction has already made the jobs that late ticks have not made. */
  isPlanned: boolean;
  /**
   * Set if the next version has the same cadence, which cannot be read: jobs made ahead then stay,
   * because they could not be made again.
   */
  keepAhead: boolean;
  maker: Maker;
}

/** Ends a version: makes its missing jobs up to the cut, and withdraws those after the cut. */
export async function endVersion(
  tx: Tx,
  current: StoredSchedule,
  state: ShardState,
  { keepPending, isPlanned, keepAhead, maker }: VersionEnd,
): Promise<OutgoingParcel[]> {
  if (isPulse(current)) return [];
  const { id, heldSince } = current;
  const timetable = timetableOf(current);
  const cut = state.now.getTime();
  if (heldSince !== null) {
    if (!keepAhead) await withdrawBeyondHold(tx, current, state);
    return [];
  }
  const lags = !isPlanned && (plannedUpTo(state, id) < state.now || asideOf(current) !== null);
  const { parcels, firesLeft } = lags
    ? await planPending(tx, current, state, maker)
    : { parcels: [], firesLeft: timetable.firesLeft };
  const first = keepPending ? firstDueAfter(timetable, cut) : null;
  if (first !== null && first <= cut && firesLeft !== 0) {
    const planned = { ...plannedOf(current), timetable: { ...timetable, firesLeft } };
    const moment = { missedUpTo: Number.NEGATIVE_INFINITY, upTo: cut };
    parcels.push(...(await maker.firePlanned(tx, state, planned, first, moment)).parcels);
  }
  if (!keepAhead)
    await withdrawAhead(tx, current, state, keepPending ? cut : occurrenceDueBy(timetable, cut));
  return parcels;
}

/**
 * Withdraws the jobs that were made ahead for the end of a hold that ends by itself, and for the
 * time after that end.
 */
async function withdrawBeyondHold(tx: Tx, current: StoredSchedule, state: ShardState): Promise<void> {
  const { id, cadence, heldSince, heldUntil } = current;
  if (heldSince === null || heldUntil === null) return;
  const timetable = timetableOf(current);
  await withdrawAhead(tx, current, state, occurrenceDueBy(timetable, heldUntil.getTime()));
  const held = unfoldHeld(withoutLimit(timetable), heldSince, heldUntil);
  const released = [...(held?.runs ?? []), ...(held?.backlog ?? [])].map(({ at }) => new Date(at));
  await withdrawReleased(tx, id, {
    released: unreadableReason(cadence) === null ? released : null,
    heldSince,
    heldUntil,
  });
}

async function withdrawAhead(
  tx: Tx,
  schedule: StoredSchedule,
  { reachedAt, watermarkAt, now }: ShardState,
  after: number,
): Promise<void> {
  const reached = Math.max(reachedAt.getTime(), watermarkAt.getTime());
  const bounds = { after, upTo: occurrenceDueBy(timetableOf(schedule), reached), cut: now };
  if (unreadableReason(schedule.cadence) !== null) return withdrawUnread(tx, schedule, bounds);
  return withdraw(tx, schedule.id, schedule.cadence, bounds);
}

/**
 * Makes the jobs of the old version up to the cut that lagging ticks have not made: its plan rows
 * end with the version.
 */
export async function planPending(
  tx: Tx,
  current: StoredSchedule,
  state: ShardState,
  maker: Maker,
): Promise<{ parcels: OutgoingParcel[]; firesLeft: number | null }> {
  const planned = plannedOf(current);
  let { timetable } = planned;
  const parcels: OutgoingParcel[] = [];
  const { id, version } = current;
  const rows = await pendingRows(tx, state, { id, version, passed: farNamesOf(asideOf(current)) });
  const pending = rows.map((row) => {
    const occurrence = readOccurrence(current, row);
    const held = isRelease(timetable, current.heldUntil, { ...row, occurrence }) ? {} : null;
    return { occurrence, held, unnoted: null };
  });
  for (const row of [...owedOf(current), ...pending]) {
    if (timetable.firesLeft === 0) break;
    if (row.held !== null) {
      const released = await maker.fireRelease(tx, state, { ...current, ...row.held }, current.version);
      parcels.push(...released.parcels);
      if (row.unnoted !== null)
        await notePassedUnderHolds(tx, [{ schedule: current, ...row.unnoted }], state, maker);
      timetable = afterFires(timetable, released.made);
      continue;
    }
    const moment = momentOf(timetable, {
      now: state.now.getTime(),
      bound: state.now.getTime(),
      missedAfterMs,
    });
    const occurrence = row.occurrence.getTime();
    const fired = await maker.firePlanned(tx, state, { ...planned, timetable }, occurrence, moment);
    parcels.push(...fired.parcels);
    timetable = afterFires(timetable, fired.jobs);
  }
  return { parcels, firesLeft: timetable.firesLeft };
}

/**
 * If the schedule is held, and is deleted or gets another cadence: the occurrences of the old cadence up
 * to now are skipped, and the ledger has them as a range.
 */
export async function notePassedUnderEndedVersion(tx: Tx, current: StoredSchedule, cut: Date): Promise<void> {
  const { heldSince } = current;
  if (isPulse(current) || heldSince === null) return;
  const timetable = timetableOf(current);
  const { cadence } = timetable;
  // If its fires were used up before the hold, no occurrence was skipped. The end of a hold may have
  // used them up.
  if (timetable.firesLeft === 0 && current.heldUntil === null) return;
  const since = occurrenceDueBy(timetable, heldSince.getTime());
  // Occurrences that are not due yet are skipped too: the new cadence does not include them.
  const upTo = cut.getTime();
  const { count, more } = counted(() => countWithin(cadence, since, upTo));
  const first = nextAfter(cadence, since);
  const last = previousBefore(cadence, upTo + 1);
  if (count === 0 || first === null || last === null) return;
  const range = { from: first, to: last, count, more, reason: "paused" as const };
  await noteRanges(tx, [{ schedule: current, ranges: [range], notedAt: cut }]);
  await writePassedEvents(tx, [{ scheduleId: current.id, ...range }]);
}

/**
 * Notes the occurrences without a job of a schedule in quarantine whose cadence cannot be read, if
 * the schedule is deleted or gets another cadence. Only the first of them is known, so the range
 * has no count.
 */
export async function noteOwedUnread(
  tx: Tx,
  ended: StoredSchedule,
  { goesOnAs, cut }: { goesOnAs: Cadence | null; cut: Date },
): Promise<void> {
  // The new cadence cannot be read either: the entry in quarantine stays.
  if (goesOnAs !== null && unreadableReason(goesOnAs) !== null) return;
  const aside = asideOf(ended);
  if (aside === null || isPulse(ended) || unreadableReason(ended.cadence) === null) return;
  const timetable = timetableOf(ended);
  const from = Date.parse(aside.occurrence);
  const to = occurrenceDueBy(timetable, cut.getTime());
  if (from > to || timetable.firesLeft === 0) return;
  const range = { from, to, count: null, more: true, reason: "unreadable" as const };
  await noteRanges(tx, [{ schedule: ended, ranges: [range], notedAt: cut }]);
  await writePassedEvents(tx, [{ scheduleId: ended.id, ...range }]);
}

/**
 * The schedule as the next tick would leave it: if its cadence cannot be read and one of its plan
 * rows is missed by now, it is in quarantine from that row on. The edit ends its plan rows, and
 * nothing but the quarantine would record the occurrences without a job.
 */
export async function withMissedUnread(
  tx: Tx,
  current: StoredSchedule,
  state: ShardState,
): Promise<StoredSchedule> {
  const { id, version, cadence, heldSince } = current;
  if (unreadableReason(cadence) === null || isPulse(current) || heldSince !== null) return current;
  if (asideOf(current) !== null || plannedUpTo(state, id) >= state.now) return current;
  const now = state.now.getTime();
  const { missedUpTo } = momentOf(timetableOf(current), { now, bound: now, missedAfterMs });
  const [first] = await pendingRows(tx, state, { id, version, passed: [] });
  if (first === undefined) return current;
  const from = readOccurrence(current, first);
  if (from.getTime() > missedUpTo) return current;
  const aside = asideOfRow({ scheduleId: id, version, ...first, heldSince: null }, from);
  return { ...current, aside };
}
