import { isDeepStrictEqual } from "node:util";
import { unreadableReason } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { cancelHeld } from "../parcel/held.ts";
import { cancelInLanes, laneRules, rearrangeLanes } from "../parcel/lanes.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { carryAside } from "../plan/aside.ts";
import { planHeld, planVersion } from "../plan/begin-version.ts";
import { type Maker, makeLater } from "../plan/make-later.ts";
import { makeAtOnce } from "../plan/maker.ts";
import { rulesOf } from "../plan/plan-schedule.ts";
import { readShard, type ShardState } from "../plan/shard.ts";
import { readTeamState } from "../quota/team-list.ts";
import { type Hold, type HoldChange, heldUntilOf, removeHolds, writeHolds } from "../schedule/holds.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import type { Json } from "../schedule/shape/json.ts";
import type { Label } from "../schedule/shared-holds.ts";
import { cadenceId } from "../schedule/stored/cadence-columns.ts";
import { lockSchedule, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { firstDueAfter, firstOf, type Timetable, timetableOf } from "../schedule/stored/timetable.ts";
import type { ScheduleChange, Spec } from "../schedule/stored/version-rows.ts";
import { raiseVersion } from "../schedule/write-schedule.ts";
import { endRechecksBy } from "./end-rechecks.ts";
import {
  endVersion,
  noteOwedUnread,
  notePassedUnderEndedVersion,
  planPending,
  withMissedUnread,
} from "./end-version.ts";
import { clearEndedHolds, hasEndedHold, staysBeyondEnd } from "./ended-hold.ts";
import { heldFrom, withOwed } from "./held-from.ts";
import { lockForChange } from "./lock-for-change.ts";
import { type Lookups, lookUpOneByOne } from "./lookups.ts";

/** The change of one edit. Fields that are left out keep their stored values. */
export interface Edit {
  change: ScheduleChange;
  spec?: Spec;
  holds?: HoldChange;
  delete?: boolean;
  /** The first occurrence to plan, if it is not the first after the cut. */
  from?: number | undefined;
  /** Whether the cadence continues, if a comparison of the two cadences would not show it. */
  kept?: boolean;
  /** Further detail for the audit, beside the actor and the action. */
  detail?: Json;
}

export interface EditContext {
  current: StoredSchedule;
  /** The watermark of its shard and the time, read once everything was locked: the edit's cut. */
  state: ShardState;
  /**
   * Labels that the edit may put on the schedule. They are locked, so that their holds can be read.
   */
  labels: readonly Label[];
  known: Lookups;
}

export interface EditLocks {
  /** The labels that the edit may put on the schedule. */
  labels?: readonly Label[];
  /** The teams that are locked. */
  teams?: ReadonlySet<string>;
  maker?: Maker;
  /**
   * Set by the housekeeping. Called once the locks of the shard are held; from then on the edit
   * waits only briefly for a locked row.
   */
  noteLocked?: (() => void) | undefined;
}

/**
 * Locks the labels, the plan lock, the gate and the schedule, in this order. Then reads the
 * watermark of the shard and the time: the edit's cut.
 */
export async function lockForEdit(
  tx: Tx,
  found: { id: string; shard: number },
  { labels = [], teams = new Set(), maker = makeAtOnce, noteLocked }: EditLocks = {},
): Promise<EditContext | null> {
  // Separate statements, each with its own snapshot, sent in this order.
  const waitingForRows = noteLocked === undefined ? undefined : 1;
  const [, current, state, teamState] = await Promise.all([
    lockForChange(tx, { labels, shards: [found.shard], noteLocked, waitingForRows }),
    lockSchedule(tx, found.id),
    readShard(tx, found.shard),
    readTeamState(tx),
  ]);
  if (current === null) return null;
  return {
    current: await afterEndedHold(tx, current, state, maker),
    state,
    labels,
    known: lookUpOneByOne(tx, state.now, { state: teamState, locked: teams }),
  };
}

/**
 * If the hold of a schedule has ended by itself, an edit sees the schedule as it is without that
 * hold; `staysBeyondEnd` has the exceptions.
 */
export async function afterEndedHold(
  tx: Tx,
  current: StoredSchedule,
  state: ShardState,
  maker: Maker = makeAtOnce,
): Promise<StoredSchedule> {
  if (!hasEndedHold(current, state) || staysBeyondEnd(current, state)) return current;
  const [cleared = current] = await clearEndedHolds(tx, [current], state, maker);
  return cleared;
}

/** Deliberate changes by a caller: they reset the count of jobs that died in a row. */
export const startsAfresh: ReadonlySet<ScheduleChange> = new Set([
  "replaced",
  "patched",
  "restored",
  "resumed",
  "deleted",
]);

export async function forgetFailures(tx: Tx, scheduleIds: readonly string[]): Promise<void> {
  await tx`select carillon.forget_failures(${scheduleIds}::bigint[])`;
}

/**
 * An edit cuts time at `state.now`. Occurrences due at or before the cut belong to the old version
 * and still run (unless the schedule is deleted), with what the schedule says when they are claimed;
 * those after it are withdrawn, and the new version is planned from the cut on. Each step is a
 * statement of its own, under the plan lock (shared) and the gate. Returns the parcels to send after
 * the commit.
 */
export async function applyEdit(
  tx: Tx,
  { current: locked, state }: Pick<EditContext, "current" | "state">,
  edit: Edit,
  holdsAfter: readonly Hold[],
  author: Caller,
  usual: Maker = makeAtOnce,
): Promise<OutgoingParcel[]> {
  const cut = state.now;
  const found = await withMissedUnread(tx, locked, state);
  // No worker would start the jobs of a deleted schedule. As backlog they still appear in the
  // ledger, and no job has to be written.
  const maker =
    edit.delete === true && found.aside !== null ? makeLater(new Error("The schedule is deleted.")) : usual;
  const { current, pending, isPlanned } = await madeByEndedHold(tx, found, state, maker);
  const isHeld = holdsAfter.length > 0 && edit.delete !== true;
  const cadence = edit.spec?.cadence ?? current.cadence;
  // If the cadence is the same, a hold continues, and the resume handles the occurrences that were
  // due since the hold began.
  const kept = edit.kept ?? isDeepStrictEqual(cadence, current.cadence);
  const ending = await endVersion(tx, current, state, {
    keepPending: !kept && edit.delete !== true,
    isPlanned,
    keepAhead:
      kept && edit.holds === undefined && edit.delete !== true && unreadableReason(current.cadence) !== null,
    maker,
  });
  const lagging = [...pending, ...ending];
  if (edit.holds !== undefined) await writeHolds(tx, current.id, edit.holds);
  const underHold = withOwed(current);
  if (!kept || edit.delete === true) await notePassedUnderEndedVersion(tx, underHold, cut);

  const { spec, change } = edit;
  const id = spec === undefined ? current.cadenceId : await cadenceId(tx, cadence, spec.calendar);
  const body = spec?.body ?? current.body;
  const before = timetableOf(current);
  const next = edit.from ?? firstAfterEdit(before, timetableOf({ ...current, cadence, body }), kept, cut);
  const after = timetableOf({ ...current, cadence, body });
  const held = isHeld
    ? heldFrom(underHold, { kept, next, cut, after, until: heldUntilOf(holdsAfter) })
    : null;
  const raised = await raiseVersion(
    tx,
    current,
    {
      change,
      spec,
      // A version that changes only the state names no cadence: the schedule keeps its current one.
      cadenceId: spec === undefined ? null : id,
      held,
      deleted: edit.delete,
      detail: edit.detail,
    },
    { ...author, at: cut },
  );
  if (startsAfresh.has(change)) await forgetFailures(tx, [current.id]);
  await carryAside(
    tx,
    found,
    {
      id: current.id,
      version: raised.version,
      cadence,
      isGone: edit.delete === true,
      isMade: current.heldSince === null && unreadableReason(current.cadence) === null,
      isHeld,
    },
    cut,
  );
  await noteOwedUnread(tx, found, { goesOnAs: edit.delete === true ? null : cadence, cut });
  if (edit.delete === true) {
    await removeHolds(tx, [current.id]);
    await cancelHeld(tx, [current.id]);
    const freed = await cancelInLanes(tx, current);
    return [...lagging, ...freed, ...(await endRechecksBy(tx, current, edit))];
  }
  const rules = { before: laneRules(current), after: laneRules({ body, lane: raised.lane }) };
  const moved = await rearrangeLanes(tx, current, { ...rules, cut, isHeld: held !== null });
  // The rechecks end only after all lanes are locked in their order.
  const done = [...lagging, ...moved, ...(await endRechecksBy(tx, current, edit))];
  const schedule = { ...current, cadence, body, cadenceId: id, version: raised.version, fires: raised.fires };
  const timetable = timetableOf(schedule);
  const planned = {
    id: current.id,
    version: raised.version,
    timetable,
    cadenceId: id,
    ...rulesOf(body),
  };
  if (held !== null) return [...done, ...(await planHeld(tx, state, schedule, planned, held, maker))];
  return [...done, ...(await planVersion(tx, state, planned, { before: current, kept, next, maker }))];
}

/**
 * A hold that has ended by itself may still be stored, because the ticks have not reached its end
 * or the cadence cannot be read. Makes the jobs that it releases, and clears it.
 */
async function madeByEndedHold(
  tx: Tx,
  current: StoredSchedule,
  state: ShardState,
  maker: Maker,
): Promise<{ current: StoredSchedule; pending: OutgoingParcel[]; isPlanned: boolean }> {
  if (!hasEndedHold(current, state)) return { current, pending: [], isPlanned: false };
  const { parcels, firesLeft } = await planPending(tx, current, state, maker);
  const [cleared = current] = await clearEndedHolds(tx, [current], state, maker);
  const { maxFires } = current.body;
  const fires = maxFires === null || firesLeft === null ? current.fires : maxFires - firesLeft;
  return { current: { ...cleared, fires }, pending: parcels, isPlanned: true };
}

/**
 * The first occurrence of the new version. The same cadence continues after the occurrences due by
 * the cut. Another cadence counts from the cut; a new `at` may lie up to a minute in the past and
 * then runs at once.
 */
export function firstAfterEdit(before: Timetable, after: Timetable, kept: boolean, cut: Date): number | null {
  if (kept) return firstDueAfter(before, cut.getTime());
  return firstOf(after.cadence, cut.getTime());
}
