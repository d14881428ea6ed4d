import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { Refusal } from "../refusal.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import {
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
  writeSharedHold,
} from "../schedule/shared-holds.ts";
import { type WalkBounds, walkMembers } from "./walk-members.ts";

export interface SharedHoldParams {
  label: Label;
  caller: Caller;
  owner?: string | undefined;
  /** Of the keys that the caller reaches: of all, where it is left out. */
  prefix?: string | undefined;
  /** Goes on with this one and no other: a call after the first. */
  revision?: string | undefined;
}

export interface SharedPauseParams extends SharedHoldParams {
  reason?: string | undefined;
  until?: Date | undefined;
}

export interface SharedHoldDone {
  /** Members changed by this call. */
  done: number;
  /** As it stands now; null where there is none, or none any more. */
  hold: SharedHold | null;
  /** Members are left: the revision to go on with. */
  unfinished?: string;
}

/** What one call does before it answers. */
const atOnce = { most: 10_000, ms: 8_000 };

function boundsOfCall(): WalkBounds {
  const until = performance.now() + atOnce.ms;
  return { most: atOnce.most, timeIsUp: () => performance.now() > until };
}

/**
 * Holds the members of a group or a tag together. The request is written in a short transaction that locks the label alone: who comes
 * under the label from then on starts held. Those who are under it already follow one after the other; nothing of a member starts once
 * its own change is committed.
 */
export async function pauseLabel(
  deps: EditDeps,
  params: SharedPauseParams,
  bounds: WalkBounds = boundsOfCall(),
): Promise<SharedHoldDone> {
  const hold = await deps.sql.begin((tx) => askForPause(tx, params));
  return carryOut(deps, hold, bounds);
}

/** Lets go of one owner's hold of a group or a tag; every other hold stays, those of its members included. */
export async function resumeLabel(
  deps: EditDeps,
  params: SharedHoldParams,
  bounds: WalkBounds = boundsOfCall(),
): Promise<SharedHoldDone> {
  const hold = await deps.sql.begin((tx) => askForResume(tx, params));
  return hold === null ? { done: 0, hold: null } : carryOut(deps, hold, bounds);
}

async function carryOut(deps: EditDeps, asked: SharedHold, bounds: WalkBounds): Promise<SharedHoldDone> {
  const { done, atEnd, failure } = await walkMembers(deps, asked, bounds);
  if (failure !== undefined) throw failure;
  const hold = await findSharedHold(deps.sql, asked);
  // What is open at the end waits aside, and the caller can do nothing for it.
  const unfinished = !atEnd && hold !== null && hold.revision === asked.revision && hold.reached !== null;
  return { done, hold, ...(unfinished ? { unfinished: asked.revision } : {}) };
}

async function askForPause(tx: Tx, params: SharedPauseParams): Promise<SharedHold> {
  const { label, caller, prefix = "", reason = null, until = null } = params;
  const hold = { ...label, owner: params.owner ?? caller.name, prefix, reason, until };
  await lockLabelAlone(tx, label);
  const now = await databaseClock(tx);
  if (until !== null && until <= now) {
    throw new Refusal("invalid", "The pause would be over already.", [
      { path: "until", message: "lies in the past" },
    ]);
  }
  const nested = (await sharedHoldsOf(tx, label)).filter((each) => isNested(each, hold));
  const others = nested.filter((each) => each.owner !== hold.owner);
  const standing = await findSharedHold(tx, hold);
  if (standing !== null && isAsRequested(standing, hold)) return sameRevision(standing, params);
  refuseRevision(params);
  refuseNarrower(nested, hold, now);
  if (others.length >= sharedHoldsMax) {
    throw new Refusal(
      "conflict",
      `The ${label.scope} has ${sharedHoldsMax} holds already, which is the most.`,
    );
  }
  const goesOn = standing !== null && standing.releasedAt === null && !hasEnded(standing, now);
  const author = { ...caller, at: now };
  const since = goesOn ? standing.since : now;
  await writeSharedHold(tx, { ...hold, since }, caller);
  await noteRequest(tx, hold, "paused", author, goesOn ? standing : null);
  for (const narrower of nested.filter((each) => isOfOwner(each, hold) && isWider(hold, each))) {
    await removeSharedHold(tx, narrower);
    await noteRequest(tx, { ...hold, prefix: narrower.prefix }, "paused", author, narrower);
  }
  return written(tx, hold);
}

async function askForResume(tx: Tx, params: SharedHoldParams): Promise<SharedHold | null> {
  await lockLabelAlone(tx, params.label);
  const standing = await reachedHold(tx, params);
  if (standing === null) return null;
  const author = { ...params.caller, at: await databaseClock(tx) };
  if (standing.releasedAt !== null) return sameRevision(standing, params);
  refuseRevision(params);
  if (hasEnded(standing, author.at)) return null;
  await releaseSharedHold(tx, standing, author);
  await noteRequest(tx, standing, "resumed", author, standing);
  return written(tx, standing);
}

/** The owner's hold of the same keys; where there is none, the one of fewer of them. */
async function reachedHold(tx: Tx, { label, caller, owner, prefix = "" }: SharedHoldParams) {
  const of = owner ?? caller.name;
  const holds = (await sharedHoldsOf(tx, label)).filter(
    (each) => each.owner === of && each.prefix.startsWith(prefix),
  );
  const same = holds.find((each) => each.prefix === prefix);
  if (same === undefined && holds.length > 1)
    throw new Refusal(
      "conflict",
      `Under other prefixes ${of} has several holds of the ${label.scope}; a token with the prefix of one lets it go.`,
    );
  return same ?? holds[0] ?? null;
}

/** Each could bind members that the other binds. */
function isNested(a: Pick<SharedHold, "prefix">, b: Pick<SharedHold, "prefix">): boolean {
  return a.prefix.startsWith(b.prefix) || b.prefix.startsWith(a.prefix);
}

/**
 * On a member, an owner has one hold of a label: two would be one, and end together. One of more keys takes the place of those of fewer,
 * so that nothing stands in the way of who holds everything; one of fewer is within the other already.
 */
function refuseNarrower(nested: readonly SharedHold[], hold: SharedHoldName, now: Date): void {
  const wider = nested.find((each) => isOfOwner(each, hold) && isWider(each, hold) && !hasEnded(each, now));
  if (wider === undefined) return;
  const keys = wider.prefix === "" ? "all its keys" : `keys that begin with ${JSON.stringify(wider.prefix)}`;
  throw new Refusal(
    "conflict",
    `${hold.owner} has a hold of the ${hold.scope} for ${keys} already: resume that one first, or name another owner.`,
  );
}

function isOfOwner(hold: Pick<SharedHold, "owner">, { owner }: Pick<SharedHold, "owner">): boolean {
  return hold.owner === owner;
}

/** The one binds all that the other binds, and more. */
function isWider(a: Pick<SharedHold, "prefix">, b: Pick<SharedHold, "prefix">): boolean {
  return a.prefix !== b.prefix && b.prefix.startsWith(a.prefix);
}

async function written(tx: Tx, hold: SharedHoldName): Promise<SharedHold> {
  const found = await findSharedHold(tx, hold);
  if (found === null) throw new Error(`The hold of ${hold.owner} on ${hold.scope} ${hold.name} is gone.`);
  return found;
}

function isAsRequested(
  standing: SharedHold,
  { reason, until }: Pick<SharedHold, "reason" | "until">,
): boolean {
  const sameEnd = standing.until?.getTime() === until?.getTime();
  return standing.releasedAt === null && standing.reason === reason && sameEnd;
}

function hasEnded({ until }: SharedHold, now: Date): boolean {
  return until !== null && until <= now;
}

function sameRevision(standing: SharedHold, { revision }: SharedHoldParams): SharedHold {
  if (revision !== undefined && revision !== standing.revision) throw overtaken();
  return standing;
}

function refuseRevision({ revision }: SharedHoldParams): void {
  if (revision !== undefined) throw overtaken();
}

function overtaken(): Refusal {
  return new Refusal("conflict", "The hold has been asked for otherwise since this cursor was given out.", [
    { path: "cursor", message: "belongs to an earlier request, or to another body" },
  ]);
}
