import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { refuseAnother } from "../quota/refuse-another.ts";
import { Refusal } from "../refusal.ts";
import { refuseMore, refuseWider } from "../schedule/hold-reach.ts";
import { type Caller, reachOf } from "../schedule/shape/caller.ts";
import {
  countSharedHolds,
  findSharedHold,
  type Label,
  lockLabelAlone,
  noteRequest,
  releaseSharedHold,
  removeSharedHold,
  type SharedHold,
  type SharedHoldName,
  sharedHoldsMax,
  sharedHoldsOf,
  teamHoldsMax,
  writeSharedHold,
} from "../schedule/shared-holds.ts";
import { type WalkBounds, walkMembers } from "./members/walk-members.ts";

export interface SharedHoldParams {
  label: Label;
  caller: Caller;
  owner?: string | undefined;
  /** The key prefix that the caller may access; all keys if left out. */
  prefix?: string | undefined;
  /** The revision to continue with, in a call after the first. */
  revision?: string | undefined;
}

export interface SharedPauseParams extends SharedHoldParams {
  reason?: string | undefined;
  until?: Date | undefined;
}

export interface SharedHoldDone {
  /** Members changed by this call. */
  done: number;
  /** The current hold; null if there is none. */
  hold: SharedHold | null;
  /** Set if members are left: the revision to continue with. */
  unfinished?: string;
}

/** The most members that one call holds or releases. */
export const heldMost = 10_000;
const callMs = 8_000;

function boundsOfCall(): WalkBounds {
  const until = performance.now() + callMs;
  return { most: heldMost, timeIsUp: () => performance.now() > until };
}

/**
 * Holds the members of a group or a tag together. A short transaction that locks only the label
 * writes the request: schedules that get the label from then on start held. Existing members follow
 * one after the other. No job of a member starts once the change of that member is committed.
 */
export async function pauseLabel(
  deps: EditDeps,
  params: SharedPauseParams,
  bounds: WalkBounds = boundsOfCall(),
): Promise<SharedHoldDone> {
  const hold = await deps.sql.begin((tx) => requestPause(tx, params));
  return carryOut(deps, hold, bounds);
}

/**
 * Releases one owner's hold of a group or a tag. All other holds stay, those of its members
 * included.
 */
export async function resumeLabel(
  deps: EditDeps,
  params: SharedHoldParams,
  bounds: WalkBounds = boundsOfCall(),
): Promise<SharedHoldDone> {
  const hold = await deps.sql.begin((tx) => requestResume(tx, params));
  return hold === null ? { done: 0, hold: null } : carryOut(deps, hold, bounds);
}

async function carryOut(deps: EditDeps, asked: SharedHold, bounds: WalkBounds): Promise<SharedHoldDone> {
  const { done, atEnd, failure } = await walkMembers(deps, asked, bounds);
  if (failure !== undefined) throw failure;
  const hold = await findSharedHold(deps.sql, asked);
  // Members that are not done when the walk has reached the end are in quarantine. Another call
  // would not change them sooner.
  const unfinished = !atEnd && hold !== null && hold.revision === asked.revision && hold.reached !== null;
  return { done, hold, ...(unfinished ? { unfinished: asked.revision } : {}) };
}

async function requestPause(tx: Tx, params: SharedPauseParams): Promise<SharedHold> {
  const { label, caller, prefix = "", reason = null, until = null } = params;
  const team = caller.reach?.team ?? prefix;
  const hold = { ...label, owner: params.owner ?? caller.name, prefix, team, reason, until };
  await lockLabelAlone(tx, label);
  const now = await databaseClock(tx);
  if (until !== null && until <= now) {
    throw new Refusal("invalid", "The pause ends in the past.", [
      { path: "until", message: "must be in the future" },
    ]);
  }
  const standing = await sharedHoldsOf(tx, label);
  const nested = standing.filter((each) => isNested(each, hold));
  const existing = await findSharedHold(tx, hold);
  if (existing !== null && isAsRequested(existing, hold)) return sameRevision(existing, params);
  refuseRevision(params);
  refuseNarrower(nested, hold, now);
  if (existing === null) {
    refuseFull(standing, hold);
    if (team !== "") await refuseAnother(tx, team, "holds", () => countSharedHolds(tx, team));
  }
  const goesOn = existing !== null && isBinding(existing, now);
  const author = { ...caller, at: now };
  const since = goesOn ? existing.since : now;
  await writeSharedHold(tx, { ...hold, since }, caller);
  await noteRequest(tx, hold, "paused", author, goesOn ? existing : null);
  for (const narrower of nested.filter((each) => isOfOwner(each, hold) && isWider(hold, each))) {
    await removeSharedHold(tx, narrower);
    await noteRequest(tx, { ...hold, prefix: narrower.prefix }, "paused", author, narrower);
  }
  return written(tx, hold);
}

async function requestResume(tx: Tx, params: SharedHoldParams): Promise<SharedHold | null> {
  await lockLabelAlone(tx, params.label);
  const author = { ...params.caller, at: await databaseClock(tx) };
  const existing = await reachedHold(tx, params, author.at);
  if (existing === null) return null;
  if (existing.releasedAt !== null) return sameRevision(existing, params);
  refuseRevision(params);
  if (hasEnded(existing, author.at)) return null;
  await releaseSharedHold(tx, existing, author);
  await noteRequest(tx, existing, "resumed", author, existing);
  return written(tx, existing);
}

/**
 * Refuses another hold if the team of its maker has the most already. The holds of others do not
 * count, so that no team uses up their room.
 */
function refuseFull(standing: readonly SharedHold[], hold: SharedHoldName & Pick<SharedHold, "team">): void {
  const ofTeam = standing.filter(({ team }) => team === hold.team);
  const near = ofTeam.filter((each) => isNested(each, hold) && !isOfOwner(each, hold));
  const of = `the ${hold.scope} ${JSON.stringify(hold.name)}`;
  const { team } = hold;
  refuseMore("conflict", { team, held: near.length, most: sharedHoldsMax, of: `${of} for the same keys` });
  refuseMore("conflict", { team, held: ofTeam.length, most: teamHoldsMax, of });
}

/**
 * The owner's hold with the same prefix, or else the only one with a longer prefix. Refuses to
 * release one with a shorter prefix.
 */
async function reachedHold(tx: Tx, { label, caller, owner, prefix = "" }: SharedHoldParams, now: Date) {
  const of = owner ?? caller.name;
  const owned = (await sharedHoldsOf(tx, label)).filter((each) => each.owner === of);
  const holds = owned.filter((each) => each.prefix.startsWith(prefix));
  const same = holds.find((each) => each.prefix === prefix);
  if (same === undefined && holds.length > 1)
    throw new Refusal(
      "conflict",
      `${of} has several holds of the ${label.scope} with longer prefixes. Release each with a token of its prefix.`,
    );
  const [found] = same === undefined ? holds : [same];
  if (found !== undefined) return found;
  const wider = owned.filter((each) => prefix.startsWith(each.prefix) && isBinding(each, now));
  refuseWider(
    { ...caller, reach: reachOf(prefix) },
    wider.map((each) => ({ ...each, reach: each.prefix })),
  );
  return null;
}

/** Whether some members could be bound by both holds. */
function isNested(a: Pick<SharedHold, "prefix">, b: Pick<SharedHold, "prefix">): boolean {
  return a.prefix.startsWith(b.prefix) || b.prefix.startsWith(a.prefix);
}

/**
 * An owner has one hold of a label on a member: two would be the same hold and end together. A hold
 * with a shorter prefix replaces those with longer ones, so that an owner can always hold
 * everything. A hold with a longer prefix is refused, because the wider hold includes it.
 */
function refuseNarrower(nested: readonly SharedHold[], hold: SharedHoldName, now: Date): void {
  const wider = nested.find((each) => isOfOwner(each, hold) && isWider(each, hold) && !hasEnded(each, now));
  if (wider === undefined) return;
  const keys = wider.prefix === "" ? "all its keys" : `keys that begin with ${JSON.stringify(wider.prefix)}`;
  throw new Refusal(
    "conflict",
    `${hold.owner} already has a hold of the ${hold.scope} for ${keys}: resume that hold first, or name another owner.`,
  );
}

function isOfOwner(hold: Pick<SharedHold, "owner">, { owner }: Pick<SharedHold, "owner">): boolean {
  return hold.owner === owner;
}

/** Whether `a` binds all keys that `b` binds, and more. */
function isWider(a: Pick<SharedHold, "prefix">, b: Pick<SharedHold, "prefix">): boolean {
  return a.prefix !== b.prefix && b.prefix.startsWith(a.prefix);
}

async function written(tx: Tx, hold: SharedHoldName): Promise<SharedHold> {
  const found = await findSharedHold(tx, hold);
  if (found === null) throw new Error(`The hold of ${hold.owner} on ${hold.scope} ${hold.name} is gone.`);
  return found;
}

function isAsRequested(
  existing: SharedHold,
  { reason, until }: Pick<SharedHold, "reason" | "until">,
): boolean {
  const sameEnd = existing.until?.getTime() === until?.getTime();
  return existing.releasedAt === null && existing.reason === reason && sameEnd;
}

function isBinding(hold: SharedHold, now: Date): boolean {
  return hold.releasedAt === null && !hasEnded(hold, now);
}

function hasEnded({ until }: SharedHold, now: Date): boolean {
  return until !== null && until <= now;
}

function sameRevision(existing: SharedHold, { revision }: SharedHoldParams): SharedHold {
  if (revision !== undefined && revision !== existing.revision) throw overtaken();
  return existing;
}

function refuseRevision({ revision }: SharedHoldParams): void {
  if (revision !== undefined) throw overtaken();
}

function overtaken(): Refusal {
  return new Refusal(
    "conflict",
    "The hold has been changed by a later request since this cursor was issued.",
    [{ path: "cursor", message: "belongs to an earlier request, or to another body" }],
  );
}
