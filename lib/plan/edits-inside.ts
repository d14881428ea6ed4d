import type { Tx } from "../db/connect.ts";
import { closeGate, lockPlanShared } from "../db/locks.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { PassingConflict, Refusal } from "../refusal.ts";
import type { Caller } from "../schedule/caller.ts";
import type { ScheduleBody } from "../schedule/schedule-body.ts";
import { labelsOf, lockLabels } from "../schedule/shared-holds.ts";
import { lockSchedules } from "../schedule/stored-schedule.ts";
import { targetName } from "../schedule/target-name.ts";
import { newScheduleId } from "../schedule/write-schedule.ts";
import { type EditedOnce, editOnce, mayPass } from "./edit-transaction.ts";
import { deleteSteps, putSteps } from "./schedule-edits.ts";
import { shardOf } from "./shard.ts";

/** An edit that somebody's own transaction makes. Cancelling what is not there is done already. */
export type EditInside = { kind: "put"; key: string; body: ScheduleBody } | { kind: "cancel"; key: string };

export interface Inside {
  author: string;
  /** The parcel that the transaction settles later. */
  parcelId: string;
  /** Schedules whose gates it passes later. */
  passing: readonly string[];
}

/** So often edits begin anew before they fail: each time somebody else has got on with his own. */
const beginningsMax = 50;

/**
 * Applies edits inside a transaction that was begun for something else, as its last work but the settle. Each is the same edit as alone; what
 * differs is that all locks of all of them come first, in the order in which everybody takes them, so that no circle can close.
 * A schedule that somebody makes or deletes at the same moment makes them begin anew, from a savepoint.
 */
export async function applyEditsInside(
  tx: Tx,
  edits: readonly EditInside[],
  inside: Inside,
): Promise<OutgoingParcel[]> {
  for (let attempt = 1; ; attempt++) {
    await tx`savepoint carillon_edits`;
    try {
      const parcels = await applyOnce(tx, edits, inside);
      if (parcels !== "again") {
        await tx`release savepoint carillon_edits`;
        return parcels;
      }
      if (attempt === beginningsMax)
        throw new PassingConflict("A schedule is being created and deleted by others at this moment.");
    } catch (error) {
      if (!mayPass(error) || attempt === beginningsMax) throw error;
    }
    await tx`rollback to savepoint carillon_edits`;
  }
}

async function applyOnce(
  tx: Tx,
  edits: readonly EditInside[],
  inside: Inside,
): Promise<OutgoingParcel[] | "again"> {
  const labels = edits.flatMap((edit) => (edit.kind === "put" ? labelsOf(edit.body) : []));
  const { lockedIds, newIds } = await lockInOrder(tx, edits, labels, inside);
  // One that somebody has made since: to lock it now would be out of order.
  const mayLock = (id: string) => lockedIds.has(id);
  const parcels: OutgoingParcel[] = [];
  // By key, as everybody here: two that make the same schedules wait for each other at the first, and not crosswise. Those of one key
  // stay in their order.
  for (const edit of edits.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))) {
    const wish = { key: edit.key, caller: { name: inside.author, origin: { via: "handler" } } as const };
    const done =
      edit.kind === "put"
        ? await editOnce(
            tx,
            wish,
            putSteps({ ...wish, body: edit.body, newId: newIds.get(edit) }),
            labels,
            mayLock,
          )
        : await cancelOnce(tx, wish, mayLock);
    if (done === "again") return "again";
    if ("unlockedLabels" in done) throw new Error(`The labels of ${edit.key} were not locked.`);
    parcels.push(...done.parcels);
  }
  return parcels;
}

async function cancelOnce(
  tx: Tx,
  wish: { key: string; caller: Caller },
  mayLock: (id: string) => boolean,
): Promise<EditedOnce | { parcels: [] }> {
  try {
    return await editOnce(tx, wish, deleteSteps, [], mayLock);
  } catch (error) {
    // Somebody else may have deleted it at this very moment: gone is gone.
    if (error instanceof Refusal && error.kind === "missing") return { parcels: [] };
    throw error;
  }
}

interface Locked {
  /** Those that there are, and those that will be made. */
  lockedIds: ReadonlySet<string>;
  /** The ids of those that will be made. */
  newIds: ReadonlyMap<EditInside, string>;
}

/** Takes every lock that the edits, and what comes after them, will take. */
async function lockInOrder(
  tx: Tx,
  edits: readonly EditInside[],
  labels: Parameters<typeof lockLabels>[1],
  { parcelId, passing }: Inside,
): Promise<Locked> {
  const keys = [...new Set(edits.map(({ key }) => key))];
  const found = await tx<{ id: string; key: string; shard: number }[]>`
    select id, key, shard from carillon.schedules where key = any(${keys}::text[]) and deleted_at is null`;
  const passed = await tx<{ shard: number }[]>`
    select distinct shard from carillon.schedules where id = any(${passing}::bigint[])`;
  const newIds = await idsOfNew(tx, edits, new Set(found.map(({ key }) => key)));
  // A schedule that is made passes no gate, unless it is edited again.
  const editedAgain = [...newIds].filter(([edit]) =>
    edits.some((other) => other !== edit && other.key === edit.key),
  );
  const gates = [...found.map(({ shard }) => shard), ...editedAgain.map(([, id]) => shardOf(id))];
  const ids = found.map(({ id }) => id);
  // Statements of their own, sent in this order.
  await Promise.all([
    lockLabels(tx, labels),
    ...ascending([...gates, ...[...newIds.values()].map(shardOf)]).map((shard) => lockPlanShared(tx, shard)),
    ...ascending([...gates, ...passed.map(({ shard }) => shard)]).map((shard) => closeGate(tx, shard)),
    lockSchedules(tx, ids),
  ]);
  await tx`select from carillon.parcels where id = ${parcelId} for share`;
  await lockTheirLanes(tx, edits, ids);
  return { lockedIds: new Set([...ids, ...newIds.values()]), newIds };
}

/** Those that the schedules have, and those that they will have. */
async function lockTheirLanes(tx: Tx, edits: readonly EditInside[], ids: readonly string[]): Promise<void> {
  const bodies = edits.flatMap((edit) => (edit.kind === "put" ? [edit.body] : []));
  await tx`
    select carillon.lock_lanes(${[...ids]}::bigint[], array(
      select carillon.lane_for(b.target, b.group_key, b.serial)
      from unnest(${bodies.map(({ target }) => targetName(target))}::text[], ${bodies.map(({ group }) => group)}::text[],
        ${bodies.map(({ serial }) => serial)}::boolean[]) b (target, group_key, serial)))`;
}

/** A put makes a schedule where there is none, or none any more after a cancel before it. */
async function idsOfNew(
  tx: Tx,
  edits: readonly EditInside[],
  live: Set<string>,
): Promise<Map<EditInside, string>> {
  const ids = new Map<EditInside, string>();
  for (const edit of edits) {
    if (edit.kind === "cancel") live.delete(edit.key);
    else if (!live.has(edit.key)) {
      ids.set(edit, await newScheduleId(tx));
      live.add(edit.key);
    }
  }
  return ids;
}

function ascending(shards: readonly number[]): number[] {
  return [...new Set(shards)].sort((a, b) => a - b);
}
