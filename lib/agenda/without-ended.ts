import { nextAfter, previousBefore } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { cutOf, type ShardState, stateOf } from "../plan/shard.ts";
import { occurrenceDueBy } from "../schedule/stored/timetable.ts";
import type { PlannedSegment } from "./planned-segments.ts";
import { whyAbsent } from "./why-absent.ts";

interface Limited {
  id: string;
  shard: number;
  deletedAt: Date | null;
  heldUntil: Date | null;
  maxFires: number | null;
  fires: number | null;
}

/**
 * The segments, each without the time after the last run that `maxFires` allowed. Up to that run
 * each occurrence of a segment is in the ledger, and after it none is. So the last one is searched
 * in halves, for all segments at once: some twenty steps for a year of seconds.
 */
export async function withoutEnded(
  tx: Tx,
  segments: ReadonlyMap<string, readonly PlannedSegment[]>,
  heads: readonly Limited[],
  states: ReadonlyMap<number, ShardState>,
): Promise<Map<string, readonly PlannedSegment[]>> {
  const now = cutOf(states).getTime();
  const searches = heads.flatMap((head) => {
    const state = stateOf(states, head.shard);
    return (segments.get(head.id) ?? []).flatMap((segment, index) => {
      // An edit has ended each version but the newest.
      const from = index > 0 ? segment.from : endedFrom(head, segment, state);
      return segment.isLimited && from !== null ? searchIn(head.id, segment, { from, now }) : [];
    });
  });
  const ends = await searchAll(tx, searches);
  const cut = (segment: PlannedSegment): PlannedSegment[] => {
    const to = ends.get(segment) ?? segment.to;
    return to > segment.from || to === segment.to ? [{ ...segment, to }] : [];
  };
  return new Map([...segments].map(([id, of]) => [id, of.flatMap(cut)]));
}

/**
 * From when on occurrences of the newest version that have no record yet get none. Null if they may still
 * get one.
 */
function endedFrom(
  { deletedAt, heldUntil, maxFires, fires }: Limited,
  { from, lag }: PlannedSegment,
  { reachedAt }: ShardState,
): number | null {
  const isUsedUp = maxFires !== null && (fires ?? 0) >= maxFires;
  if (deletedAt !== null) return from;
  if (!isUsedUp) return null;
  // The jobs that the end of a hold releases are made ahead of it. Those it skips are recorded after it.
  const isReleased = heldUntil !== null && heldUntil <= reachedAt;
  return isReleased ? Math.max(from, occurrenceDueBy(lag, heldUntil.getTime())) : from;
}

/** Yields the occurrences to look up, and returns the last one that is in the ledger. */
type Halving = Generator<number, number | null, boolean>;

interface Search {
  id: string;
  segment: PlannedSegment;
  from: number;
  halving: Halving;
  /** The occurrence that is looked up next. */
  at: number;
}

function searchIn(
  id: string,
  segment: PlannedSegment,
  { from, now }: { from: number; now: number },
): Search[] {
  const last = previousBefore(segment.cadence, Math.min(segment.to, now) + 1);
  if (last === null || last <= from) return [];
  const halving = lastRecorded({ ...segment, from }, last);
  const { value } = halving.next();
  return value === null ? [] : [{ id, segment, from, halving, at: value }];
}

function* lastRecorded({ cadence, from }: PlannedSegment, last: number): Halving {
  if (yield last) return last;
  const first = nextAfter(cadence, from);
  if (first === null || first >= last || !(yield first)) return null;
  let [low, high] = [first, last];
  for (;;) {
    let middle = previousBefore(cadence, Math.floor((low + high) / 2) + 1);
    if (middle === null || middle <= low) middle = nextAfter(cadence, low);
    if (middle === null || middle >= high) return low;
    if (yield middle) low = middle;
    else high = middle;
  }
}

async function searchAll(tx: Tx, searches: readonly Search[]): Promise<Map<PlannedSegment, number>> {
  const ends = new Map<PlannedSegment, number>();
  for (let open = searches; open.length > 0; ) {
    const recorded = await recordedAmong(tx, open);
    open = open.flatMap((search) => {
      const { done, value } = search.halving.next(recorded.has(search));
      if (done !== true) return [{ ...search, at: value }];
      ends.set(search.segment, value ?? search.from);
      return [];
    });
  }
  return ends;
}

/** Those whose occurrence has a job, was passed over, waits in the backlog, or is older than the jobs that are kept. */
async function recordedAmong(tx: Tx, searches: readonly Search[]): Promise<Set<Search>> {
  const rows = await tx<{ index: number }[]>`
    select k.index::int - 1 as index
    from unnest(${searches.map(({ id }) => id)}::bigint[], ${tx.array(searches.map(({ at }) => new Date(at)))}::timestamptz[])
      with ordinality k (id, at, index)
    where k.at < (select kept_from from carillon.retention) or exists (
      select from carillon.jobs j where j.occurrence = k.at and j.schedule_id = k.id and j.kind = 'cadence' and j.n = 0 offset 0)`;
  const made = new Set(rows.map(({ index }) => index));
  const rest = searches.filter((_, index) => !made.has(index));
  const passed = await whyAbsent(
    tx,
    rest.map(({ id, at }) => ({ scheduleId: id, occurrence: new Date(at) })),
  );
  return new Set(searches.filter((each, index) => made.has(index) || passed.has(`${each.id}-${each.at}`)));
}
