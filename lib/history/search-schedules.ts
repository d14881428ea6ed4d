import type { Tx } from "../db/connect.ts";
import {
  type Access,
  accessFor,
  fits,
  type HeadFilter,
  isCovered,
  keysBehind,
  walked,
} from "../schedule/filter-schedules.ts";
import { movedOutOf, type WithMovedOut } from "../schedule/moved-out.ts";
import { isKeyPlace } from "../schedule/shape/schedule-key.ts";
import type { ScheduleRead, ScheduleState } from "./read-schedule.ts";
import { failingIn, failingWalk, hasDied, isFailingPlace } from "./search-failing.ts";
import {
  type Count,
  countOf,
  type Looked,
  type Matching,
  pageOf,
  placesOf,
  type Walk,
} from "./search-page.ts";
import { comingPlaceText, comingWalk, readComingPlace } from "./search-upcoming.ts";

export interface ScheduleFilter extends Omit<HeadFilter, "held"> {
  state?: ScheduleState | undefined;
  /** A job of the schedule is dead, and the newest due job has not succeeded since. */
  failing?: boolean | undefined;
  /** The next occurrence: from here … */
  nextFrom?: Date | undefined;
  /** … to before here. */
  nextTo?: Date | undefined;
}

export interface ScheduleSearch extends ScheduleFilter {
  /** The `next` of the page before. */
  after?: string | undefined;
  limit: number;
}

/** By key; by the next occurrence; or, for failing schedules, the oldest schedule first. */
export type SearchOrder = "key" | "next" | "age";

export function orderOf({ nextFrom, nextTo, failing, group, tag, target }: ScheduleFilter): SearchOrder {
  if (nextFrom !== undefined || nextTo !== undefined) return "next";
  // A filter by group, tag or target is narrower than the list of failing schedules.
  const named = group ?? tag ?? (target?.includes("/") ? target : undefined);
  return failing === true && named === undefined ? "age" : "key";
}

/** Whether a list may continue at this place. */
export function isSearchPlace(filter: ScheduleFilter, text: string): boolean {
  switch (orderOf(filter)) {
    case "key":
      return isKeyPlace(text);
    case "age":
      return isFailingPlace(text);
    case "next":
      return readComingPlace(text) !== null;
  }
}

export async function listSchedules(
  tx: Tx,
  { after, limit, ...filter }: ScheduleSearch,
): Promise<{ items: ScheduleRead[]; next?: string }> {
  switch (orderOf(filter)) {
    case "key":
      return pageOf(tx, await keyWalk(tx, filter), { limit, after });
    case "age":
      return pageOf(tx, failingWalk(tx, filter), { limit, after });
    case "next": {
      const place = after === undefined ? undefined : (readComingPlace(after) ?? undefined);
      const { items, next } = await pageOf(tx, comingWalk(tx, filter), { limit, after: place });
      return { items, ...(next === undefined ? {} : { next: comingPlaceText(next) }) };
    }
  }
}

/**
 * The next matching schedules, in the order of the list. There may be fewer than
 * `limit`, even none, although `next` is set.
 */
export async function findMatching(
  tx: Tx,
  { after, limit, ...filter }: ScheduleSearch,
): Promise<{ items: Matching[]; next?: string }> {
  const order = orderOf(filter);
  if (order === "next") {
    const place = after === undefined ? undefined : (readComingPlace(after) ?? undefined);
    const { items, next } = await placesOf(tx, comingWalk(tx, filter), { limit, after: place });
    return { items, ...(next === undefined ? {} : { next: comingPlaceText(next) }) };
  }
  const walk = order === "age" ? failingWalk(tx, filter) : await keyWalk(tx, filter);
  return placesOf(tx, walk, { limit, after });
}

/** A count stops here; the answer says that there are more. */
export const countedMax = 10_000;

export async function countSchedules(tx: Tx, filter: ScheduleFilter): Promise<Count> {
  switch (orderOf(filter)) {
    case "key":
      return countOf(tx, await keyWalk(tx, filter), countedMax);
    case "age":
      return countOf(tx, failingWalk(tx, filter), countedMax);
    case "next":
      return countOf(tx, comingWalk(tx, filter), countedMax);
  }
}

/** The count, and with a prefix the schedules that have moved away from it. */
export async function countWithMovedOut(tx: Tx, filter: ScheduleFilter): Promise<Count & WithMovedOut> {
  return { ...(await countSchedules(tx, filter)), ...(await movedOutOf(tx, filter)) };
}

async function keyWalk(tx: Tx, { state, failing = false, ...filter }: ScheduleFilter): Promise<Walk<string>> {
  const held = state === undefined ? undefined : state === "paused";
  const named: HeadFilter = { ...filter, held };
  const access = await accessFor(tx, named);
  const byReading = failing || state === "active" || state === "ended";
  return {
    // The index of held schedules also has those whose hold has ended and is not cleared yet.
    covered: isCovered(access, named) && held !== true,
    ...(access.by === "held" && !failing ? { countedThrough: heldThrough } : {}),
    lookedMax: failing ? 2_000 : lookedThrough(access),
    look: (after, most) => look(tx, { access, named, state, failing }, after, most),
    judge: byReading
      ? async (reads) => {
          const dead = failing ? await failingIn(tx, reads) : null;
          return reads.map(
            (read) => (state === undefined || read.state === state) && (dead === null || dead.has(read.id)),
          );
        }
      : null,
  };
}

/**
 * How many held schedules a count checks. A hundred thousand holds may end at one instant, and the
 * others are counted past them.
 */
const heldThrough = 250_000;

/**
 * How many schedules one statement may check. If it merges the schedules of several targets, it
 * reads that many of each, so the bound is divided by their number.
 */
function lookedThrough(access: Access): number {
  const walks = access.by === "targets" ? Math.max(1, access.ids.length) : 1;
  return Math.min(15_000, Math.floor(20_000 / walks));
}

interface Look {
  access: Access;
  named: HeadFilter;
  state: ScheduleState | undefined;
  failing: boolean;
}

async function look(
  tx: Tx,
  { access, named, state, failing }: Look,
  after: string | undefined,
  most: { looked: number; found: number },
): Promise<Looked<string>> {
  const range = keysBehind(after, named.prefix);
  if (range === null) return { found: [], last: null };
  const rows = await tx<{ last: string | null; looked: number; id: string | null; key: string | null }[]>`
    with looked as materialized (${walked(tx, access, range, most.looked)}),
    found as (
      select s.id, s.key from looked s ${state === "active" || state === "ended" ? withTimes(tx) : tx``}
      where ${fits(tx, named)} ${mayBe(tx, state)} ${failing ? tx`and ${hasDied(tx)}` : tx``}
      order by s.key limit ${most.found})
    select e.last, e.looked, f.id, f.key
    from (select max(key) as last, count(*)::int as looked from looked) e left join found f on true order by f.key`;
  const found = rows.flatMap(({ id, key }) => (id === null || key === null ? [] : [{ id, place: key }]));
  const { last = null, looked = 0 } = rows[0] ?? {};
  if (found.length === most.found) return { found, last: found.at(-1)?.place ?? null };
  return { found, last: looked < most.looked ? null : last };
}

/**
 * The most parcels, backlog rows and quarantine entries that are searched for a schedule. With more
 * of them, the condition below does not narrow the search.
 */
const parcelsMax = 1_000;

/** Joins to schedule `s` its shard, and what its spec says about when it runs. */
const withTimes = (tx: Tx) => tx`
  join carillon.shards h on h.id = s.shard
  left join lateral (
    select v.once_at, v.ends_at, v.cadence_id, v.body ?| array['spread', 'slot'] as moved from carillon.schedule_versions v
    where v.schedule_id = s.id and v.version = s.spec_version offset 0) v on true
  left join carillon.cadences c on c.id = v.cadence_id`;

/**
 * Narrows a search by columns, before reading decides. Only a schedule with a last occurrence can
 * be `ended`. A one-time schedule is not `active` if its time has passed and it has no job in any
 * parcel, nothing in the backlog and no quarantine entry.
 */
function mayBe(tx: Tx, state: ScheduleState | undefined) {
  const now = tx`(select carillon.clock())`;
  switch (state) {
    case "ended":
      return tx`and (v.once_at <= ${now} or (v.once_at is null and (v.ends_at is not null or s.max_fires is not null
        or c.calendar_version is not null or c.expression ~ '(^|[|] )at ')))`;
    case "active":
      // A date before the year 100 is unreadable, and does not end a schedule.
      return tx`and (v.once_at <= ${now} and v.once_at > '0100-01-01Z' and h.watermark_at >= ${now} and not v.moved
        and (select count(*) from (select from carillon.parcels where pulse_at is null limit ${parcelsMax + 1}) p) <= ${parcelsMax}
        and (select count(*) from (select from carillon.backlog limit ${parcelsMax + 1}) b) <= ${parcelsMax}
        and (select count(*) from (select from carillon.quarantine where consumer = 'plan' limit ${parcelsMax + 1}) q) <= ${parcelsMax}
        and s.id not in (
          select unnest(schedule_ids) from (select p.schedule_ids from carillon.parcels p where p.pulse_at is null order by p.id limit ${parcelsMax}) p
          union all select b.schedule_id from carillon.backlog b
          union all select q.schedule_id from carillon.quarantine q where q.consumer = 'plan' and q.schedule_id is not null)) is not true`;
    default:
      return tx``;
  }
}
