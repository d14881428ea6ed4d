import type { Tx } from "../../db/connect.ts";
import { afterEndedHold, applyEdit, type Edit } from "../../edit/apply-edit.ts";
import { lockForChange } from "../../edit/lock-for-change.ts";
import type { OutgoingParcel } from "../../parcel/parcel-queue.ts";
import type { Maker } from "../../plan/make-later.ts";
import { cutOf, readShards, type ShardState, stateOf } from "../../plan/shard.ts";
import {
  type Hold,
  type HoldChange,
  holdsAfter,
  holdsOf,
  isSameHold,
  removeHoldOfEach,
  writeHoldOfEach,
} from "../../schedule/holds.ts";
import type { Json } from "../../schedule/shape/json.ts";
import {
  binds,
  callerOfHold,
  countMembers,
  findSharedHold,
  labelsBesides,
  labelsOf,
  type Member,
  type SharedHold,
} from "../../schedule/shared-holds.ts";
import { lockSchedules, type StoredSchedule } from "../../schedule/stored/stored-schedule.ts";
import { jobsReplacedMax } from "../jobs-budget.ts";
import { applyPlainChanges, jobsOfPlain, type PlainChange, plainChangeOf } from "../plain-holds.ts";

export interface Bound {
  changed: number | "overtaken";
  parcels: OutgoingParcel[];
  /**
   * Members beyond the limits of one transaction: those with many jobs, and those that need an edit of
   * their own. Claims of the shard wait for both, so these members are left to the next one.
   */
  left: ReadonlySet<string>;
}

/** Limit of members that a transaction edits one by one. */
export const eachMax = 25;

export interface BindMeans {
  /** Whether this is a part of a failed batch. */
  briefly: boolean;
  noteLocked: () => void;
  /**
   * Whether to wait for locked rows as long as an API call does. Housekeeping continues with other
   * members instead.
   */
  waitsForRows: boolean;
  maker: Maker;
  /** Whether the locks have been held for so long that no further member is edited by itself. */
  isLong: () => boolean;
}

/**
 * Puts a hold on members, or releases it: one edit of each, with the same locks and the same cut
 * for all.
 */
export async function bindMembers(
  tx: Tx,
  asked: SharedHold,
  found: readonly Member[],
  { briefly, noteLocked, waitsForRows, maker, isLong }: BindMeans,
): Promise<Bound> {
  const ids = found.map(({ id }) => id);
  const shards = [...new Set(found.map(({ shard }) => shard))];
  // Separate statements, each with its own snapshot, sent in this order.
  const waitingForRows = waitsForRows ? undefined : ids.length;
  const [, hold, schedules, states, holds] = await Promise.all([
    lockForChange(tx, { labels: [asked], shards, briefly, noteLocked, waitingForRows }),
    findSharedHold(tx, asked),
    lockSchedules(tx, ids),
    readShards(tx),
    holdsOf(tx, ids),
  ]);
  if (hold?.revision !== asked.revision) return { changed: "overtaken", parcels: [], left: new Set() };
  const now = cutOf(states);
  const wanted = { hold, edit: editOf(hold, now), maker };
  const toChange = schedules.filter((each) => isToChange(each, holds.get(each.id) ?? [], hold, now));
  const members = withinJobs(toChange, (current) => {
    const state = stateOf(states, current.shard);
    const after = holdsAfter(holds.get(current.id) ?? [], wanted.edit.holds, now);
    const plain = maker.together === null ? null : plainChangeOf(current, after, state);
    return { current, state, after, plain };
  });
  const plain = members.flatMap((member) => member.plain ?? []);
  const others = members.filter((member) => member.plain === null);
  const parcels = await bindTogether(tx, wanted, plain);
  let edited = 0;
  for (const member of others) {
    if (edited === eachMax || (edited > 0 && isLong())) break;
    parcels.push(...(await changeOne(tx, wanted, member)));
    edited += 1;
  }
  const left = [...others.slice(edited).map(({ current }) => current), ...toChange.slice(members.length)];
  const changed = toChange.length - left.length;
  if (changed > 0) await countMembers(tx, hold, changed);
  return { changed, parcels, left: new Set(left.map(({ id }) => id)) };
}

/** The first members, up to the one with which they have as many jobs as a transaction replaces. */
function withinJobs(
  schedules: readonly StoredSchedule[],
  memberOf: (current: StoredSchedule) => BoundMember,
): BoundMember[] {
  const members: BoundMember[] = [];
  let jobs = 0;
  for (const current of schedules) {
    if (jobs >= jobsReplacedMax.divided) break;
    const member = memberOf(current);
    members.push(member);
    if (member.plain !== null) jobs += jobsOfPlain(member.plain);
  }
  return members;
}

interface BoundMember {
  current: StoredSchedule;
  state: ShardState;
  after: Hold[];
  /** Null if this member needs an edit of its own. */
  plain: PlainChange | null;
}

interface Wanted {
  hold: SharedHold;
  edit: HoldEdit;
  maker: Maker;
}

async function bindTogether(
  tx: Tx,
  { hold, edit: { change, holds, detail }, maker }: Wanted,
  changes: readonly PlainChange[],
): Promise<OutgoingParcel[]> {
  if (changes.length === 0) return [];
  const ids = changes.map(({ id }) => id);
  for (const set of holds.set ?? []) await writeHoldOfEach(tx, ids, set);
  for (const name of holds.remove ?? []) await removeHoldOfEach(tx, ids, name);
  const words = { detail, author: callerOfHold(hold) };
  const apply = () => applyPlainChanges(tx, changes, words, change);
  return maker.together === null ? [] : maker.together(apply);
}

async function changeOne(
  tx: Tx,
  { hold, edit, maker }: Wanted,
  { current, state, after }: BoundMember,
): Promise<OutgoingParcel[]> {
  const context = { current: await afterEndedHold(tx, current, state, maker), state };
  return applyEdit(tx, context, edit, after, callerOfHold(hold), maker);
}

/** False if the member already has this state, or has left the label. */
function isToChange(
  { key, body, unread }: StoredSchedule,
  had: readonly Hold[],
  hold: SharedHold,
  now: Date,
): boolean {
  if (!binds(hold, key)) return false;
  const existing = had.find((each) => isSameHold(each, hold));
  if (hold.releasedAt !== null) return existing !== undefined && !hasEnded(existing, now);
  if (hasEnded(hold, now)) return false;
  // The walk found this member by its columns; the labels in its body may be the unreadable part.
  if (unread === null && labelsBesides([hold], labelsOf(body)).length > 0) return false;
  return existing?.reason !== hold.reason || existing.until?.getTime() !== hold.until?.getTime();
}

/**
 * Whether a hold has ended by itself. Such a hold needs no change here: it ends on each member by
 * itself too.
 */
function hasEnded({ until }: Pick<Hold, "until">, now: Date): boolean {
  return until !== null && until <= now;
}

interface HoldEdit extends Edit {
  change: "paused" | "resumed";
  holds: HoldChange;
  detail: Json;
}

function editOf(
  { scope, name, owner, prefix, team, reason, until, releasedAt }: SharedHold,
  now: Date,
): HoldEdit {
  const by = { owner, [scope]: name };
  if (releasedAt !== null)
    return { change: "resumed", holds: { remove: [{ scope, name, owner }] }, detail: by };
  return {
    change: "paused",
    holds: { set: [{ scope, name, owner, reason, until, since: now, reach: prefix, team }] },
    detail: { ...by, reason, until: until?.toISOString() ?? null },
  };
}
