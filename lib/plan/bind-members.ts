import type { Tx } from "../db/connect.ts";
import { closeGate, lockPlanShared } from "../db/locks.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { type Hold, type HoldChange, holdsAfter, holdsOf, isSameHold } from "../schedule/holds.ts";
import {
  countMembers,
  findSharedHold,
  labelsOf,
  lockLabels,
  type Member,
  type SharedHold,
} from "../schedule/shared-holds.ts";
import { lockSchedules, type StoredSchedule } from "../schedule/stored-schedule.ts";
import { afterEndedHold, applyEdit, type Edit } from "./edit.ts";
import { readShard } from "./shard.ts";

export interface Bound {
  changed: number | "overtaken";
  parcels: OutgoingParcel[];
}

/** Brings members of one shard under a hold, or out of it: an edit each, under locks and at a cut that they share. */
export async function bindMembers(tx: Tx, asked: SharedHold, members: readonly Member[]): Promise<Bound> {
  const ids = members.map(({ id }) => id);
  const shard = members[0]?.shard ?? 0;
  // Statements with a snapshot each, sent in this order.
  const [, hold, , , schedules, state, holds] = await Promise.all([
    lockLabels(tx, [asked]),
    findSharedHold(tx, asked),
    lockPlanShared(tx, shard),
    closeGate(tx, shard),
    lockSchedules(tx, ids),
    readShard(tx, shard),
    holdsOf(tx, ids),
  ]);
  if (hold?.revision !== asked.revision) return { changed: "overtaken", parcels: [] };
  let changed = 0;
  const parcels: OutgoingParcel[] = [];
  for (const schedule of schedules) {
    const had = holds.get(schedule.id) ?? [];
    const change = changeOf(schedule, had, hold, state.now);
    if (change === null) continue;
    const context = await afterEndedHold(tx, schedule, state);
    const after = holdsAfter(had, change, state.now);
    parcels.push(...(await applyEdit(tx, context, editOf(hold, change), after, hold.author)));
    changed += 1;
  }
  if (changed > 0) await countMembers(tx, hold, changed);
  return { changed, parcels };
}

/** Null where nothing is to be done: it is as wanted, or no member any more. */
function changeOf(
  { body }: StoredSchedule,
  had: readonly Hold[],
  { scope, name, owner, reason, until, releasedAt }: SharedHold,
  now: Date,
): HoldChange | null {
  const hold: Hold = { scope, name, owner, reason, until, since: now };
  const standing = had.find((each) => isSameHold(each, hold));
  if (releasedAt !== null)
    return standing === undefined || hasEnded(standing, now) ? null : { remove: [hold] };
  if (!labelsOf(body).some((label) => label.scope === scope && label.name === name)) return null;
  if (hasEnded(hold, now)) return null;
  const same =
    standing !== undefined && standing.reason === reason && standing.until?.getTime() === until?.getTime();
  return same ? null : { set: [hold] };
}

/** Its members look at its end themselves. */
function hasEnded({ until }: Hold, now: Date): boolean {
  return until !== null && until <= now;
}

function editOf({ scope, name, owner, reason, until }: SharedHold, holds: HoldChange): Edit {
  const by = { owner, [scope]: name };
  return holds.set === undefined
    ? { change: "resumed", holds, detail: by }
    : { change: "paused", holds, detail: { ...by, reason, until: until?.toISOString() ?? null } };
}
