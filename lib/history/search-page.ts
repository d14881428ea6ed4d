import type { Tx } from "../db/connect.ts";
import { findSchedulesById } from "../schedule/stored/stored-schedule.ts";
import { readStored, type ScheduleRead } from "./read-schedule.ts";

/** Result of one statement of a walk. */
export interface Looked<Place> {
  /** In the order of the walk. */
  found: readonly { id: string; place: Place }[];
  /** The last place checked; null if nothing follows. */
  last: Place | null;
}

/** A walk through schedules in a fixed order. */
export interface Walk<Place> {
  /** Checks at most `looked` schedules, and returns at most `found` of them. */
  look(after: Place | undefined, most: { looked: number; found: number }): Promise<Looked<Place>>;
  /** Whether every checked schedule matches. */
  covered: boolean;
  /** Decides what a statement cannot: which of the found schedules match. Null if all do. */
  judge: ((reads: readonly ScheduleRead[], places: readonly Place[]) => Promise<boolean[]>) | null;
  /** Schedules that the last and largest statement of a page checks; earlier ones check fewer. */
  lookedMax: number;
  /** Schedules that the one statement of a count checks, if that is another number than usual. */
  countedThrough?: number;
}

/**
 * Largest number of found schedules read for one page, if only reading shows whether they match.
 */
const readMax = 400;

/**
 * A page of a walk. If the walk meets schedules that do not match, each page checks a bounded
 * number: it may have fewer than `limit` items, even none, and still a `next`.
 */
export async function pageOf<Place>(
  tx: Tx,
  walk: Walk<Place>,
  { limit, after }: { limit: number; after?: Place | undefined },
): Promise<{ items: ScheduleRead[]; next?: Place }> {
  const items: ScheduleRead[] = [];
  let place = after;
  let read = 0;
  for (const looked of stepsOf(walk, limit)) {
    const { found, last } = await walk.look(place, { looked, found: readMax });
    for (let from = 0; from < found.length; ) {
      if (items.length === limit || read >= readMax) return { items, ...nextOf(place) };
      const batch = found.slice(from, from + (limit - items.length));
      items.push(...(await readMeant(tx, walk, batch)));
      place = batch.at(-1)?.place;
      from += batch.length;
      read += batch.length;
    }
    if (last === null) return { items };
    place = last;
    if (items.length === limit) break;
  }
  return { items, ...nextOf(place) };
}

/** A schedule that matches. */
export interface Matching {
  id: string;
  /** The version that was read, if only reading showed that it matches. */
  version?: number;
}

/**
 * The next schedules of a walk, without reading those that a statement can judge. As in a page, a
 * bounded number is checked, so fewer than `limit` may be found although more follow.
 */
export async function placesOf<Place>(
  tx: Tx,
  walk: Walk<Place>,
  { limit, after }: { limit: number; after?: Place | undefined },
): Promise<{ items: Matching[]; next?: Place }> {
  const isJudged = walk.judge !== null;
  const most = {
    looked: walk.covered && !isJudged ? limit + 1 : Math.max(limit, Math.min(walk.lookedMax, placesLooked)),
    found: isJudged ? Math.min(limit, readMax) : limit,
  };
  const { found, last } = await walk.look(after, most);
  const next = last === null ? undefined : last;
  const rest = next === undefined ? {} : { next };
  if (!isJudged) return { items: found.map(({ id }) => ({ id })), ...rest };
  const items: Matching[] = [];
  for (let from = 0; from < found.length; from += readAtOnce) {
    const meant = await readMeant(tx, walk, found.slice(from, from + readAtOnce));
    items.push(...meant.map(({ id, version }) => ({ id, version })));
  }
  return { items, ...rest };
}

/** Schedules that one statement checks for `placesOf`. */
const placesLooked = 8_000;

/** Bounds of a count: schedules checked by statements, and schedules read. */
const counted = { looked: 50_000, read: 1_000 };

export interface Count {
  count: number;
  /** There may be more. */
  more: boolean;
}

/** Counts the matches of a walk, up to `most`. */
export async function countOf<Place>(tx: Tx, walk: Walk<Place>, most: number): Promise<Count> {
  let count = 0;
  let place: Place | undefined;
  let read = 0;
  const through = walk.judge === null ? (walk.countedThrough ?? counted.looked) : counted.looked;
  const step = walk.judge === null ? through : Math.min(through, walk.lookedMax);
  for (let looked = 0; looked < through; looked += step) {
    const left = walk.judge === null ? most + 1 - count : counted.read - read;
    const { found, last } = await walk.look(place, {
      looked: walk.covered && walk.judge === null ? most + 1 : step,
      found: left,
    });
    read += found.length;
    count += walk.judge === null ? found.length : await countMeant(tx, walk, found);
    if (count > most) return { count: most, more: true };
    if (last === null) return { count, more: false };
    place = last;
    if (walk.judge !== null && read >= counted.read) break;
  }
  return { count, more: true };
}

const readAtOnce = 100;

async function countMeant<Place>(tx: Tx, walk: Walk<Place>, found: Looked<Place>["found"]): Promise<number> {
  let count = 0;
  for (let from = 0; from < found.length; from += readAtOnce)
    count += (await readMeant(tx, walk, found.slice(from, from + readAtOnce))).length;
  return count;
}

/**
 * How many schedules each statement of a page checks. If all of them match, one statement is
 * enough, and one schedule beyond the limit shows whether another page follows. Otherwise the steps
 * grow.
 */
function stepsOf<Place>({ covered, judge, lookedMax }: Walk<Place>, limit: number): number[] {
  if (covered && judge === null) return [limit + 1];
  const first = 4 * limit;
  return [first, ...[1_000, 4_000, lookedMax].filter((step) => step > first && step <= lookedMax)];
}

const nextOf = <Place>(place: Place | undefined) => (place === undefined ? {} : { next: place });

/**
 * Reads the found schedules and returns those that match, in the same order. Schedules that were
 * deleted meanwhile are left out.
 */
async function readMeant<Place>(
  tx: Tx,
  { judge }: Walk<Place>,
  found: Looked<Place>["found"],
): Promise<ScheduleRead[]> {
  const stored = await findSchedulesById(
    tx,
    found.map(({ id }) => id),
  );
  const byId = new Map((await readStored(tx, stored)).map((read) => [read.id, read]));
  const pairs = found.flatMap(({ id, place }) => {
    const read = byId.get(id);
    return read === undefined ? [] : [{ read, place }];
  });
  if (judge === null) return pairs.map(({ read }) => read);
  const meant = await judge(
    pairs.map(({ read }) => read),
    pairs.map(({ place }) => place),
  );
  return pairs.flatMap(({ read }, index) => (meant[index] === true ? [read] : []));
}
