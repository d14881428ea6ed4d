import type { Tx } from "../../db/connect.ts";
import { databaseClock } from "../../db/database-clock.ts";
import { readableEnd, readableStart } from "../../db/readable-instants.ts";
import { highestCharacter } from "../../schedule/filter-schedules.ts";
import type { HoldScope } from "../../schedule/holds.ts";
import { withCovered } from "./covered-schedules.ts";
import { type BoardPlace, firstPlace, ownFrom, placeOf, sharedFrom } from "./hold-place.ts";

export interface HoldFilter {
  scope?: HoldScope | undefined;
  owner?: string | undefined;
  /** Holds of schedules with these keys, and holds of labels that bind such a schedule. */
  prefix?: string | undefined;
  endsBefore?: Date | undefined;
}

/**
 * A hold of one schedule, or of a group or a tag. `ending`: it was released, or its end has passed,
 * and it is not off all of its schedules yet.
 */
export interface BoardHold {
  scope: HoldScope;
  /** The key of the schedule, or the name of the group or tag. */
  name: string;
  owner: string;
  /** The keys that a hold of a label covers; empty for all. Null for a hold of one schedule. */
  prefix: string | null;
  /** The keys that its maker reached; empty for all. Null as in `Hold`. */
  reach: string | null;
  reason: string | null;
  since: Date;
  until: Date | null;
  state: "binding" | "ending";
  /**
   * The schedules that the hold covers, as `withCovered` counts them; of a hold that is being set or
   * released those that it was put on, or taken off, so far.
   */
  members: number;
}

export interface Board {
  now: Date;
  items: BoardHold[];
  next?: BoardPlace;
}

/** The most holds of each kind that one page reads, if a filter may leave some of them out. */
export const boardLookedMax = 2_000;

/** With this many held schedules under a prefix or fewer, their holds are read and sorted. */
const heldMax = 500;

export interface BoardRow extends Omit<BoardHold, "state"> {
  scheduleId: string | null;
  released: boolean;
  isSet: boolean;
  fits: boolean;
}

/** The next rows of one kind, and whether the page ended before the kind did. */
interface Looked {
  rows: BoardRow[];
  isCut: boolean;
}

/**
 * The holds in force, those that end first at the front. Holds of labels and of single schedules
 * are read from an index each, and merged.
 */
export async function readBoard(
  tx: Tx,
  { filter, after, limit }: { filter: HoldFilter; after?: BoardPlace | undefined; limit: number },
): Promise<Board> {
  const now = await databaseClock(tx);
  const from = after ?? firstPlace;
  const { scope, owner, prefix } = filter;
  const isWhole =
    owner === undefined && prefix === undefined && (scope === undefined || scope === "schedule");
  const most = isWhole ? limit + 1 : boardLookedMax;
  const kinds = await Promise.all([
    scope === "schedule" ? null : lookAtShared(tx, { filter, from, most }),
    scope === undefined || scope === "schedule" ? lookAtOwn(tx, { filter, from, most }) : null,
  ]);
  const looked = kinds.filter((kind) => kind !== null);
  const all = looked.flatMap(({ rows }) => rows).toSorted(inOrder);
  // Behind the last row of a kind that was cut, rows of that kind are missing.
  const ends = looked.flatMap(({ rows, isCut }) => (isCut ? rows.slice(-1) : []));
  const end = ends.toSorted(inOrder)[0];
  const sure = end === undefined ? all : all.slice(0, all.indexOf(end) + 1);
  const fitting = sure.filter(({ fits }) => fits);
  const items = fitting.slice(0, limit);
  const last = fitting.length > limit ? items.at(-1) : end;
  return {
    now,
    items: (await withCovered(tx, items)).map((row) => boardHold(row, now)),
    ...(last === undefined ? {} : { next: placeOf(last) }),
  };
}

function boardHold(
  { scheduleId: _, isSet: __, released, fits: ___, ...hold }: BoardRow,
  now: Date,
): BoardHold {
  const isOver = released || (hold.until !== null && hold.until <= now);
  return { ...hold, state: isOver ? "ending" : "binding" };
}

/** As the indexes order them; rows of one kind keep the order in which they were read. */
function inOrder(one: BoardRow, other: BoardRow): number {
  const end = ({ until }: BoardRow) => until?.getTime() ?? Number.MAX_SAFE_INTEGER;
  return end(one) - end(other) || rank(one.scope) - rank(other.scope);
}

const rank = (scope: HoldScope): number => ["group", "schedule", "tag"].indexOf(scope);

interface Looking {
  filter: HoldFilter;
  from: BoardPlace;
  most: number;
}

async function lookAtShared(tx: Tx, { filter, from, most }: Looking): Promise<Looked> {
  const { scope, owner, prefix, endsBefore } = filter;
  const rows = await tx<BoardRow[]>`
    select h.scope, h.name, h.owner, h.prefix, h.prefix as reach, h.reason, h.since, nullif(h.until, 'infinity') as until, h.members, null as "scheduleId",
      h.released_at is not null as released, h.released_at is null and h.reached is null as "isSet",
      (true ${scope === undefined ? tx`` : tx`and h.scope = ${scope}`} ${owner === undefined ? tx`` : tx`and h.owner = ${owner}`}
        ${prefix === undefined ? tx`` : tx`and ${bindsUnder(tx, prefix)}`}) as fits
    from (
      select h.* from carillon.shared_holds h
      where ${sharedFrom(tx, from)} ${endsBefore === undefined ? tx`` : tx`and coalesce(h.until, 'infinity') < ${endsBefore}`}
      order by coalesce(h.until, 'infinity'), h.scope, h.name, h.prefix, h.owner limit ${most}) h
    order by coalesce(h.until, 'infinity'), h.scope, h.name, h.prefix, h.owner`;
  return { rows, isCut: rows.length === most };
}

/** SQL: whether a hold `h` covers only keys under the prefix, or more keys and a member under it. */
function bindsUnder(tx: Tx, prefix: string) {
  const to = prefix + highestCharacter;
  return tx`(starts_with(h.prefix, ${prefix}) or (starts_with(${prefix}, h.prefix) and case h.scope
    when 'group' then exists (
      select from carillon.schedules s
      where s.deleted_at is null and s.group_key is not null and s.group_key = h.name and s.key >= ${prefix} and s.key < ${to} offset 0)
    else exists (select from carillon.schedule_tags t where t.tag = h.name and t.key >= ${prefix} and t.key < ${to} offset 0) end))`;
}

async function lookAtOwn(tx: Tx, { filter, from, most }: Looking): Promise<Looked> {
  const { owner, prefix, endsBefore } = filter;
  const ids = prefix === undefined ? null : await heldUnder(tx, prefix);
  const order = tx`coalesce(h.until, 'infinity'), h.schedule_id, h.owner`;
  const within = tx`h.scope not in ('group', 'tag') and ${ownFrom(tx, from)}
    ${endsBefore === undefined ? tx`` : tx`and coalesce(h.until, 'infinity') < ${endsBefore}`}`;
  // Sorted without the index of ends (`offset 0`): these few are found by their schedules.
  const holds =
    ids === null
      ? tx`select h.* from carillon.holds h where ${within} order by ${order} limit ${most}`
      : tx`select h.* from (select * from carillon.holds where schedule_id = any(${ids}::bigint[]) and scope = 'schedule' offset 0) h
          where ${within} order by ${order} limit ${most}`;
  const to = `${prefix ?? ""}${highestCharacter}`;
  const rows = await tx<BoardRow[]>`
    select 'schedule' as scope, coalesce(s.key, '') as name, h.owner, null as prefix, h.reach, h.reason, h.schedule_id as "scheduleId",
      ${readableStart(tx, tx`h.since`)} as since, ${readableEnd(tx, tx`h.until`)} as until, 1 as members, false as released, false as "isSet",
      (s.key is not null ${owner === undefined ? tx`` : tx`and h.owner = ${owner}`}
        ${prefix === undefined ? tx`` : tx`and s.key >= ${prefix} and s.key < ${to}`}) as fits
    from (${holds}) h left join lateral (
      select s.key from carillon.schedules s where s.id = h.schedule_id and coalesce(s.deleted_at, 'infinity') = 'infinity' offset 0) s on true
    order by ${order}`;
  return { rows, isCut: rows.length === most };
}

/** The held schedules under a prefix; null if there are too many to read all of their holds. */
async function heldUnder(tx: Tx, prefix: string): Promise<string[] | null> {
  const rows = await tx<{ id: string }[]>`
    select s.id from carillon.schedules s
    where s.deleted_at is null and s.held_since is not null and s.key >= ${prefix} and s.key < ${prefix + highestCharacter}
    order by s.key limit ${heldMax + 1}`;
  return rows.length > heldMax ? null : rows.map(({ id }) => id);
}
