import { isConflict } from "../db/retrying.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { searchingOutside } from "../edit/search-outside.ts";
import { type Searching, unboundedSearches } from "../edit/search-pace.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { unfoldingInTime } from "../plan/unfolding-time.ts";
import { blameOnceLocked, FewerFit, inHalves, OfNoRow } from "../quarantine/in-halves.ts";
import { asideAmong, letGoUnlocked } from "../quarantine/quarantine.ts";
import type { ReplanPlace } from "./calendar-replans.ts";
import type { ReferringSchedule } from "./referring.ts";
import { replanTogether } from "./replan-together.ts";

export interface PageBounds {
  /** Largest number of schedules to replan. */
  most: number;
  timeIsUp: () => boolean;
  /**
   * Called for a schedule that fails. The others go on, and its next attempt is in the next round.
   */
  failed: (scheduleId: string, error: unknown) => Promise<void>;
  /**
   * Shards whose lock was not granted. Their other schedules are skipped until the next round,
   * since each would wait for the lock as long again.
   */
  left: Set<number>;
  /** Whether each lock is waited for only briefly, since a caller waits. */
  briefly?: boolean;
}

const consumer = "calendar-replan";

/** Schedules that are replanned in one transaction, as many as a batch edits one by one. */
const togetherMax = 25;

/** Each long search begins the transaction of a batch again. Beyond these the batch is divided. */
const searchesMax = 10;

function fewSearches(schedules: number): Searching {
  const searching = unboundedSearches();
  let searches = 0;
  return async (search) => {
    searches += 1;
    if (searches > searchesMax)
      throw new FewerFit("The calendar leaves out years of too many cadences.", Math.ceil(schedules / 2));
    await searching(search);
  };
}

export interface PageDone {
  replanned: number;
  failed: boolean;
  /** The last schedule before the first one that was not tried; null if that is the first of all. */
  after: string | null;
}

/** Replans the schedules of a page that are planned by older rules, those of one shard together. */
export async function replanPage(
  deps: EditDeps,
  place: ReplanPlace,
  page: readonly ReferringSchedule[],
  bounds: PageBounds,
): Promise<PageDone> {
  const older = page.filter((found) => found.older);
  const done = await replanEach(deps, place, older.slice(0, bounds.most), bounds);
  const untried = new Set([...older.slice(bounds.most), ...done.left]);
  const end = page.findIndex((found) => untried.has(found));
  const through = end === -1 ? page : page.slice(0, end);
  return { replanned: done.replanned, failed: done.failed, after: through.at(-1)?.id ?? null };
}

interface Tried {
  replanned: number;
  failed: boolean;
  /** Schedules for which there was no time. */
  left: readonly ReferringSchedule[];
}

async function replanEach(
  deps: EditDeps,
  place: ReplanPlace,
  schedules: readonly ReferringSchedule[],
  bounds: PageBounds,
): Promise<Tried> {
  if (schedules.length === 0) return { replanned: 0, failed: false, left: [] };
  const aside = await asideAmong(
    deps.sql,
    consumer,
    schedules.map(({ id }) => id),
  );
  const open = schedules.filter(({ id }) => aside.get(id)?.waits !== true);
  let replanned = 0;
  let failed = open.length < schedules.length;
  const left: ReferringSchedule[] = [];
  for (const part of partsOf(open)) {
    const done = await replanPart(deps, place, part, bounds);
    replanned += done.replanned;
    failed ||= done.failed;
    left.push(...done.left);
    const over = new Set([...done.left, ...done.bad]);
    const again = part.filter((each) => aside.has(each.id) && !over.has(each));
    await letGoUnlocked(
      deps.sql,
      consumer,
      again.map(({ id }) => id),
    );
  }
  return { replanned, failed, left };
}

/** Schedules of one shard, and those that pass a lane alone. */
function partsOf(schedules: readonly ReferringSchedule[]): (readonly ReferringSchedule[])[] {
  const together = Map.groupBy(schedules, ({ shard, id, alone }) => (alone ? `alone ${id}` : shard));
  return [...together.values()].flatMap((same) =>
    Array.from({ length: Math.ceil(same.length / togetherMax) }, (_, n) =>
      same.slice(n * togetherMax, (n + 1) * togetherMax),
    ),
  );
}

async function replanPart(
  deps: EditDeps,
  { calendarId, author }: ReplanPlace,
  part: readonly ReferringSchedule[],
  { timeIsUp, failed, left, briefly = false }: PageBounds,
): Promise<Tried & { bad: readonly ReferringSchedule[] }> {
  const [first] = part;
  if (first === undefined) return { replanned: 0, failed: false, left: [], bad: [] };
  const { shard } = first;
  if (left.has(shard)) return { replanned: 0, failed: true, left: [], bad: part };
  let replanned = 0;
  const parcels: OutgoingParcel[] = [];
  const act = async (some: readonly ReferringSchedule[]) => {
    const ids = some.map(({ id }) => id);
    const how = { author: { name: author }, briefly: briefly || some.length < part.length };
    const done = await blameOnceLocked((noteLocked) =>
      searchingOutside(
        () =>
          unfoldingInTime(deps.queue.timing, some.length, () =>
            deps.sql.begin((tx) => replanTogether(tx, { calendarId, shard, ids, ...how, noteLocked })),
          ),
        some.length === 1 ? {} : { bounded: fewSearches(some.length) },
      ),
    );
    replanned += done.replanned;
    parcels.push(...done.parcels);
  };
  // After a conflict the next round tries again.
  const report = async ({ id }: ReferringSchedule, error: unknown) => {
    if (!isConflict(error instanceof OfNoRow ? error.cause : error)) await failed(id, error);
  };
  try {
    const halved = await inHalves(part, act, timeIsUp);
    for (const { item, error } of halved.failed) await report(item, error);
    const bad = halved.failed.map(({ item }) => item);
    return { replanned, failed: bad.length > 0, left: halved.left, bad };
  } catch (error) {
    if (error instanceof OfNoRow) left.add(shard);
    await report(first, error);
    return { replanned, failed: true, left: [], bad: part };
  } finally {
    await handOver(deps.sql, deps.queue, parcels);
  }
}
