import type { Tx } from "../db/connect.ts";
import { findSchedulesById } from "../schedule/stored/stored-schedule.ts";
import { readStored, type ScheduleRead } from "./read-schedule.ts";

/** What one statement has found. */
export interface Looked<Place> {
  /** In the order of the walk. */
  found: readonly { id: string; place: Place }[];
  /** Up to where it has looked; null where nothing is left behind it. */
  last: Place | null;
}

/** A walk through schedules in a fixed order. */
export interface Walk<Place> {
  /** Looks at so many at most and finds so many of them. */
  look(after: Place | undefined, most: { looked: number; found: number }): Promise<Looked<Place>>;
  /** Whether whatever is looked at is also found. */
  covered: boolean;
  /** Tells what no statement can tell: which of those found are meant indeed. Null: all of them. */
  judge: ((reads: readonly ScheduleRead[], places: readonly Place[]) => Promise<boolean[]>) | null;
  /** How many the last and longest statement of a page looks at; those before look at fewer. */
  lookedMax: number;
}

/** Of those found so many are read for one page, where reading tells whether they are meant. */
const readMax = 400;

/**
 * A page of a walk. Where the walk meets others than those that are meant, each page looks at so many at most: there may be fewer
 * than `limit`, even none, and still a `next`.
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

/** Counting reads and looks at so many. */
const counted = { looked: 50_000, read: 1_000 };

export interface Count {
  count: number;
  /** There may be more. */
  more: boolean;
}

/** How many a walk comes to, up to `most`. */
export async function countOf<Place>(tx: Tx, walk: Walk<Place>, most: number): Promise<Count> {
  let count = 0;
  let place: Place | undefined;
  let read = 0;
  const step = walk.judge === null ? counted.looked : Math.min(counted.looked, walk.lookedMax);
  for (let looked = 0; looked < counted.looked; looked += step) {
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

/** The one found next tells that there is another page. Where others than those meant are met, the looks grow. */
function stepsOf<Place>({ covered, judge, lookedMax }: Walk<Place>, limit: number): number[] {
  if (covered && judge === null) return [limit + 1];
  const first = 4 * limit;
  return [first, ...[1_000, 4_000, lookedMax].filter((step) => step > first && step <= lookedMax)];
}

const nextOf = <Place>(place: Place | undefined) => (place === undefined ? {} : { next: place });

/** In the order in which they were found. Who was deleted meanwhile is not among them. */
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
