import type { Tx } from "../db/connect.ts";
import { lockLabel, lockLabelsShared } from "../db/locks.ts";
import { highestCharacter } from "./filter-schedules.ts";
import type { Hold, HoldName, HoldScope } from "./holds.ts";
import { type Author, type Caller, type Origin, originText } from "./shape/caller.ts";
import type { ScheduleBody } from "./shape/schedule-body.ts";

/** A group, or a tag: what schedules are held by together. */
export interface Label {
  scope: Exclude<HoldScope, "schedule">;
  name: string;
}

export function labelsOf({ group, tags }: Pick<ScheduleBody, "group" | "tags">): Label[] {
  const ofTags = tags.map((name): Label => ({ scope: "tag", name }));
  return group === null ? ofTags : [{ scope: "group", name: group }, ...ofTags];
}

/** Of `labels` those that are not among `others`. */
export function labelsBesides(labels: readonly Label[], others: readonly Label[]): Label[] {
  return labels.filter(
    ({ scope, name }) => !others.some((each) => each.scope === scope && each.name === name),
  );
}

/** Each of them once: the schedules of a batch mostly share theirs. */
export function distinctLabels(labels: readonly Label[]): Label[] {
  return [...new Map(labels.map((label) => [lockName(label), label])).values()];
}

const lockName = ({ scope, name }: Label) => `${scope}:${name}`;

/** Taken by who comes under these labels, or carries their holds to members. */
export function lockLabels(tx: Tx, labels: readonly Label[]): PromiseLike<unknown> {
  return lockLabelsShared(tx, labels.map(lockName));
}

/** Who asked for what it says. */
export function callerOfHold({ author, origin }: Pick<SharedHold, "author" | "origin">): Caller {
  return origin === null ? { name: author } : { name: author, origin };
}

/** Taken by who sets or releases a hold of a label. */
export function lockLabelAlone(tx: Tx, label: Label): PromiseLike<unknown> {
  return lockLabel(tx, lockName(label));
}

/** A hold of a group or a tag, and how far its members have been seen to. */
export interface SharedHold extends Label, Omit<Hold, keyof HoldName> {
  owner: string;
  /** It binds members whose keys begin with this; empty for all of them. */
  prefix: string;
  author: string;
  /** From where it was set, or released; null in rows of older versions. */
  origin: Origin | null;
  revision: string;
  /** It is being let go. */
  releasedAt: Date | null;
  /** Null when no member is left to be seen to. */
  reached: string | null;
  members: number;
}

export type SharedHoldName = Label & Pick<SharedHold, "owner" | "prefix">;

/** One label has so many holds at most: each new member gets them all. */
export const sharedHoldsMax = 50;

const columns = (tx: Tx) => tx`
  h.scope, h.name, h.owner, h.prefix, h.reason, h.since, nullif(h.until, 'infinity') as until, h.author, h.origin, h.revision, h.released_at as "releasedAt", h.reached, h.members`;

const named = (tx: Tx, { scope, name, prefix, owner }: SharedHoldName) =>
  tx`scope = ${scope} and name = ${name} and prefix = ${prefix} and owner = ${owner}`;

/** Also such as have ended, or are being let go. */
export async function sharedHoldsOf(tx: Tx, { scope, name }: Label): Promise<SharedHold[]> {
  return tx<SharedHold[]>`
    select ${columns(tx)} from carillon.shared_holds h where scope = ${scope} and name = ${name} order by since, owner, prefix`;
}

export async function findSharedHold(tx: Tx, hold: SharedHoldName): Promise<SharedHold | null> {
  const [found] = await tx<SharedHold[]>`
    select ${columns(tx)} from carillon.shared_holds h where ${named(tx, hold)}`;
  return found ?? null;
}

/** A hold that binds whoever comes under its label with a key that begins with the prefix. */
export type BindingHold = Hold & Pick<SharedHold, "prefix">;

export function binds({ prefix }: Pick<SharedHold, "prefix">, key: string): boolean {
  return key.startsWith(prefix);
}

/** What a schedule under these labels, which are distinct, is held by, as far as its key is one of those that a hold binds. */
export async function holdsBinding(tx: Tx, labels: readonly Label[], now: Date): Promise<BindingHold[]> {
  if (labels.length === 0) return [];
  const holds = await tx<BindingHold[]>`
    select h.scope, h.name, h.owner, h.prefix, h.reason, nullif(h.until, 'infinity') as until
    from unnest(${labels.map(({ scope }) => scope)}::text[], ${labels.map(({ name }) => name)}::text[]) l (scope, name)
    join carillon.shared_holds h on h.scope = l.scope and h.name = l.name collate "C"
    where h.released_at is null and (h.until is null or h.until > ${now})`;
  return holds.map((hold) => ({ ...hold, since: now }));
}

/** A request of its own: what an older one has left to be done is no longer wanted. */
export async function writeSharedHold(
  tx: Tx,
  hold: SharedHoldName & Pick<SharedHold, "reason" | "since" | "until">,
  author: Caller,
): Promise<void> {
  const { scope, name, owner, prefix, reason, since, until } = hold;
  await tx`
    insert into carillon.shared_holds (scope, name, owner, prefix, reason, since, until, author, origin)
    values (${scope}, ${name}, ${owner}, ${prefix}, ${reason}, ${since}, ${until}, ${author.name}, ${originText(author)}::text::jsonb)
    on conflict (scope, name, prefix, owner) do update
    set reason = excluded.reason, since = excluded.since, until = excluded.until, author = excluded.author, origin = excluded.origin,
      revision = excluded.revision, released_at = null, reached = '', members = 0`;
}

export async function releaseSharedHold(tx: Tx, hold: SharedHoldName, author: Author): Promise<void> {
  await tx`
    update carillon.shared_holds
    set released_at = ${author.at}, author = ${author.name}, origin = ${originText(author)}::text::jsonb,
      revision = nextval('carillon.shared_hold_revisions'), reached = '', members = 0
    where ${named(tx, hold)}`;
}

/** Without letting go of a member: another hold has taken its place. */
export async function removeSharedHold(tx: Tx, hold: SharedHoldName): Promise<void> {
  await tx`delete from carillon.shared_holds where ${named(tx, hold)}`;
}

export async function noteRequest(
  tx: Tx,
  hold: SharedHoldName & Pick<SharedHold, "reason" | "until">,
  action: "paused" | "resumed",
  author: Author,
  before: Pick<SharedHold, "reason" | "until"> | null,
): Promise<void> {
  const { scope, name, owner, prefix, reason, until } = hold;
  const was = before === null ? null : { reason: before.reason, until: before.until };
  const detail = { owner, ...(action === "paused" ? { reason, until } : {}), before: was };
  await tx`
    insert into carillon.audit (at, actor, action, subject, detail, origin, prefix)
    values (${author.at}, ${author.name}, ${`${scope}.${action}`}, ${name}, ${JSON.stringify(detail)}::text::jsonb,
      ${originText(author)}::text::jsonb, ${prefix})`;
}

/** A member that is to be seen to, and its place in the walk through all of them. */
export interface Member {
  id: string;
  shard: number;
  /** It passes a lane. */
  laned: boolean;
  place: string;
}

/**
 * The next members whose holds are not as wanted. An index has them in order: what a walk costs rises with the
 * members, not with the schedules there are.
 */
export function nextMembers(tx: Tx, hold: SharedHold, after: string, limit: number): PromiseLike<Member[]> {
  const { scope, name, owner, prefix, reason, until, releasedAt } = hold;
  if (releasedAt !== null) {
    return tx<Member[]>`
      select s.id, s.shard, (s.overlap is not null or s.lane is not null) as laned, s.id::text as place
      from carillon.holds h join carillon.schedules s on s.id = h.schedule_id and coalesce(s.deleted_at, 'infinity') = 'infinity'
      where h.scope = ${scope} and h.name = ${name} and h.owner = ${owner} and h.scope <> 'schedule' and starts_with(s.key, ${prefix})
        and h.schedule_id > coalesce(nullif(${after}::text, ''), '0')::bigint
      order by h.schedule_id limit ${limit}`;
  }
  const to = prefix + highestCharacter;
  const [ofLabel, place] =
    scope === "group"
      ? [
          tx`carillon.schedules s where s.group_key = ${name} and s.key > ${after} and s.key >= ${prefix} and s.key < ${to}`,
          tx`s.key`,
        ]
      : [
          tx`
            carillon.schedule_tags t
            cross join lateral (select * from carillon.schedules s where s.key = t.key and s.deleted_at is null offset 0) s
            where t.tag = ${name} and t.key > ${after} and t.key >= ${prefix} and t.key < ${to}`,
          tx`t.key`,
        ];
  // Asked of each member in turn (`offset 0`): what else is held does not matter.
  return tx<Member[]>`
    select s.id, s.shard, (s.overlap is not null or s.lane is not null) as laned, s.key as place
    from ${ofLabel} and s.deleted_at is null
      and not exists (
        select from carillon.holds h
        where h.schedule_id = s.id and h.scope = ${scope} and h.name = ${name} and h.owner = ${owner}
          and h.reason is not distinct from ${reason}::text and h.until is not distinct from ${until}::timestamptz offset 0)
    order by ${place} limit ${limit}`;
}

export async function countMembers(tx: Tx, hold: SharedHold, more: number): Promise<void> {
  await tx`
    update carillon.shared_holds set members = members + ${more} where ${named(tx, hold)} and revision = ${hold.revision}`;
}

/** Whoever walks beside this one has done the same up to where it has come. */
export async function moveReached(tx: Tx, hold: SharedHold, place: string): Promise<void> {
  await tx`
    update carillon.shared_holds set reached = ${place}
    where ${named(tx, hold)} and revision = ${hold.revision} and reached is not null`;
}

/** Everybody has been seen to. A hold that was let go is gone by that. */
export async function endWalk(tx: Tx, hold: SharedHold): Promise<void> {
  const mine = tx`${named(tx, hold)} and revision = ${hold.revision} and reached is not null`;
  const done =
    hold.releasedAt === null
      ? tx`update carillon.shared_holds set reached = null where ${mine} returning *`
      : tx`delete from carillon.shared_holds where ${mine} returning *`;
  const action = `${hold.scope}.${hold.releasedAt === null ? "pause" : "resume"}-completed`;
  await tx`
    with done as (${done})
    insert into carillon.audit (at, actor, action, subject, detail, origin, prefix)
    select carillon.clock(), author, ${action}, name, jsonb_build_object('owner', owner, 'members', members), origin, prefix from done`;
}

/**
 * Those of which members are left, the request of longest ago first, but for these revisions. One that another transaction has locked is left for
 * another time: each step of a walk writes its row.
 */
export function unfinishedSharedHolds(
  tx: Tx,
  { limit, without }: { limit: number; without: readonly string[] },
): PromiseLike<SharedHold[]> {
  return tx<SharedHold[]>`
    select ${columns(tx)} from carillon.shared_holds h
    where reached is not null and revision <> all (${[...without]}::bigint[]) order by revision limit ${limit} for update skip locked`;
}

/** A hold that has ended binds no member; members look at its end themselves. One that is locked is left for another time. */
export async function removeEndedSharedHolds(tx: Tx): Promise<void> {
  await tx`
    delete from carillon.shared_holds where ctid = any(array(
      select ctid from carillon.shared_holds where until <= (select carillon.clock()) for update skip locked))`;
}
