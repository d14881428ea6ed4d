import type { Tx } from "../db/connect.ts";
import { lockLabel, lockLabelsShared } from "../db/locks.ts";
import { highestCharacter } from "./filter-schedules.ts";
import { carillonsOwn, endedDetail, type Hold, type HoldName, type HoldScope } from "./holds.ts";
import { type Author, type Caller, type Origin, originText } from "./shape/caller.ts";
import type { ScheduleBody } from "./shape/schedule-body.ts";

/** A group or a tag, which can hold its schedules together. */
export interface Label {
  scope: Exclude<HoldScope, "schedule">;
  name: string;
}

export function labelsOf({ group, tags }: Pick<ScheduleBody, "group" | "tags">): Label[] {
  const ofTags = tags.map((name): Label => ({ scope: "tag", name }));
  return group === null ? ofTags : [{ scope: "group", name: group }, ...ofTags];
}

/** The labels that are not in `others`. */
export function labelsBesides(labels: readonly Label[], others: readonly Label[]): Label[] {
  return labels.filter(
    ({ scope, name }) => !others.some((each) => each.scope === scope && each.name === name),
  );
}

/** Each label once: the schedules of a batch usually have the same labels. */
export function distinctLabels(labels: readonly Label[]): Label[] {
  return [...new Map(labels.map((label) => [lockName(label), label])).values()];
}

const lockName = ({ scope, name }: Label) => `${scope}:${name}`;

/**
 * Locks labels in shared mode: for schedules that get these labels, and for the walk that applies
 * holds to members.
 */
export function lockLabels(tx: Tx, labels: readonly Label[]): PromiseLike<unknown> {
  return lockLabelsShared(tx, labels.map(lockName));
}

/** The caller that set or released the hold. */
export function callerOfHold({ author, origin }: Pick<SharedHold, "author" | "origin">): Caller {
  return origin === null ? { name: author } : { name: author, origin };
}

/** Locks a label exclusively: for setting and releasing its holds. */
export function lockLabelAlone(tx: Tx, label: Label): PromiseLike<unknown> {
  return lockLabel(tx, lockName(label));
}

/** A hold of a group or a tag, and the progress of applying it to the members. */
export interface SharedHold extends Label, Omit<Hold, keyof HoldName | "reach" | "team"> {
  owner: string;
  /** Binds only members whose keys begin with this; empty for all members. */
  prefix: string;
  author: string;
  /** The team of the caller that set it, for the limits. */
  team: string;
  /** The source of the request that set or released the hold; null in rows of older versions. */
  origin: Origin | null;
  revision: string;
  /** Set once the hold is released; the walk then takes it off the members. */
  releasedAt: Date | null;
  /**
   * The last member that the walk has visited: its key, or its id if the hold is released. Empty at
   * the beginning; null when every member has been visited.
   */
  reached: string | null;
  members: number;
}

export type SharedHoldName = Label & Pick<SharedHold, "owner" | "prefix">;

/**
 * The most holds of one team on a label that bind the same keys, because each new member gets all
 * of them.
 */
export const sharedHoldsMax = 50;

/** The most holds of one team on a label, for all of its prefixes together. */
export const teamHoldsMax = 1_000;

/** The most ended holds that one statement removes; the next tick removes the rest. */
const endedMax = 1_000;

const columns = (tx: Tx) => tx`
  h.scope, h.name, h.owner, h.prefix, h.reason, h.since, nullif(h.until, 'infinity') as until, h.author, h.team, h.origin, h.revision, h.released_at as "releasedAt", h.reached, h.members`;

const named = (tx: Tx, { scope, name, prefix, owner }: SharedHoldName) =>
  tx`scope = ${scope} and name = ${name} and prefix = ${prefix} and owner = ${owner}`;

/** The holds of a label, also those that have ended or are being released. */
export async function sharedHoldsOf(tx: Tx, { scope, name }: Label): Promise<SharedHold[]> {
  return tx<SharedHold[]>`
    select ${columns(tx)} from carillon.shared_holds h where scope = ${scope} and name = ${name} order by since, owner, prefix`;
}

export async function findSharedHold(tx: Tx, hold: SharedHoldName): Promise<SharedHold | null> {
  const [found] = await tx<SharedHold[]>`
    select ${columns(tx)} from carillon.shared_holds h where ${named(tx, hold)}`;
  return found ?? null;
}

/** A hold that binds every schedule that gets its label, if the key begins with the prefix. */
export type BindingHold = Hold & Pick<SharedHold, "prefix">;

export function binds({ prefix }: Pick<SharedHold, "prefix">, key: string): boolean {
  return key.startsWith(prefix);
}

/**
 * The holds of these labels, which must be distinct. The caller still has to check the prefix of
 * each against the key.
 */
export async function holdsBinding(tx: Tx, labels: readonly Label[], now: Date): Promise<BindingHold[]> {
  if (labels.length === 0) return [];
  const holds = await tx<BindingHold[]>`
    select h.scope, h.name, h.owner, h.prefix, h.prefix as reach, h.team, h.reason, nullif(h.until, 'infinity') as until
    from unnest(${labels.map(({ scope }) => scope)}::text[], ${labels.map(({ name }) => name)}::text[]) l (scope, name)
    join carillon.shared_holds h on h.scope = l.scope and h.name = l.name collate "C"
    where h.released_at is null and (h.until is null or h.until > ${now})`;
  return holds.map((hold) => ({ ...hold, since: now }));
}

/** The holds of groups and tags that a team has set. A hold counts until its last member is released. */
export async function countSharedHolds(tx: Tx, team: string): Promise<number> {
  const [row] = await tx<{ holds: number }[]>`
    select count(*)::int as holds from carillon.shared_holds where team = ${team}`;
  return row?.holds ?? 0;
}

/** Sets a hold, as a new request: the unfinished walk of an older one is dropped. */
export async function writeSharedHold(
  tx: Tx,
  hold: SharedHoldName & Pick<SharedHold, "reason" | "since" | "until" | "team">,
  author: Caller,
): Promise<void> {
  const { scope, name, owner, prefix, reason, since, until, team } = hold;
  await tx`
    insert into carillon.shared_holds (scope, name, owner, prefix, reason, since, until, team, author, origin)
    values (${scope}, ${name}, ${owner}, ${prefix}, ${reason}, ${since}, ${until}, ${team}, ${author.name}, ${originText(author)}::text::jsonb)
    on conflict (scope, name, prefix, owner) do update
    set reason = excluded.reason, since = excluded.since, until = excluded.until, team = excluded.team, author = excluded.author, origin = excluded.origin,
      revision = excluded.revision, released_at = null, reached = '', members = 0`;
}

export async function releaseSharedHold(tx: Tx, hold: SharedHoldName, author: Author): Promise<void> {
  await tx`
    update carillon.shared_holds
    set released_at = ${author.at}, author = ${author.name}, origin = ${originText(author)}::text::jsonb,
      revision = nextval('carillon.shared_hold_revisions'), reached = '', members = 0
    where ${named(tx, hold)}`;
}

/** Removes a hold without releasing its members: another hold has replaced it. */
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

/** A member that the walk has to visit, and its place in the walk. */
export interface Member {
  id: string;
  shard: number;
  /** Whether its jobs pass a lane. */
  laned: boolean;
  place: string;
}

/**
 * The next members on which the walk has to set the hold or, if it is released, to end it. An index
 * has them in order, so the cost of a walk grows with the members, not with all schedules.
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
  // Checked per member (`offset 0`), so that the cost does not depend on other holds.
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

/**
 * Notes the member that the walk has reached. Concurrent walks are harmless: each has applied the
 * hold up to the member that it notes.
 */
export async function moveReached(tx: Tx, hold: SharedHold, place: string): Promise<void> {
  await tx`
    update carillon.shared_holds set reached = ${place}
    where ${named(tx, hold)} and revision = ${hold.revision} and reached is not null`;
}

/** Ends a walk that has visited every member. A released hold is deleted. */
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
 * Holds with members left to visit, the oldest request first, except these revisions. A hold that
 * another transaction has locked is skipped: each step of a walk writes its row.
 */
export function unfinishedSharedHolds(
  tx: Tx,
  { limit, without }: { limit: number; without: readonly string[] },
): PromiseLike<SharedHold[]> {
  return tx<SharedHold[]>`
    select ${columns(tx)} from carillon.shared_holds h
    where reached is not null and revision <> all (${[...without]}::bigint[]) order by revision limit ${limit} for update skip locked`;
}

/**
 * Removes holds that have ended, and writes an entry of each into the audit. An ended hold binds no
 * member, since members check the end themselves. A locked hold is skipped, and removed in a later
 * tick.
 */
export async function removeEndedSharedHolds(tx: Tx): Promise<void> {
  await tx`
    with ended as (
      delete from carillon.shared_holds where ctid = any(array(
        select ctid from carillon.shared_holds where until <= (select carillon.clock()) order by until limit ${endedMax} for update skip locked))
      returning *
    )
    insert into carillon.audit (at, actor, action, subject, detail, prefix)
    select h.until, ${carillonsOwn.owner}, h.scope || '.resumed', h.name, ${endedDetail(tx)} - h.scope, h.prefix
    from ended h where h.released_at is null`;
}
