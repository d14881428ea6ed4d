import { nextRunAfter, unreadableReason } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import type { Tx } from "../db/connect.ts";
import { isBeyond, type RunLimit, runLimitOf } from "../plan/fires-left.ts";
import { cutOf, plannedUpTo, type ShardState, stateOf } from "../plan/shard.ts";
import { findSchedulesById } from "../schedule/stored/stored-schedule.ts";
import { occurrenceDueBy } from "../schedule/stored/timetable.ts";
import type { PlannedSegment } from "./planned-segments.ts";

interface Limited {
  id: string;
  shard: number;
  deletedAt: Date | null;
  maxFires: number | null;
}

/**
 * The segments without the runs until now that are not planned yet and that `maxFires` will not allow. There are such runs only while the ticks are behind, and with a spread or a
 * slot; only then is the limit read, schedule by schedule.
 */
export async function withinLimit(
  tx: Tx,
  segments: ReadonlyMap<string, readonly PlannedSegment[]>,
  heads: readonly Limited[],
  states: ReadonlyMap<number, ShardState>,
): Promise<Map<string, readonly PlannedSegment[]>> {
  const now = cutOf(states);
  const ids = heads
    .filter((head) => hasOpenRun(head, segments.get(head.id)?.[0], states))
    .map(({ id }) => id);
  const within = new Map(segments);
  if (ids.length === 0) return within;
  for (const schedule of await findSchedulesById(tx, ids)) {
    if (unreadableReason(schedule.cadence) !== null) continue;
    const of = segments.get(schedule.id) ?? [];
    const limit = await runLimitOf(tx, schedule, now);
    if (of[0] === undefined || limit === null) continue;
    const last = lastAllowed(of[0].cadence, limit, now.getTime());
    within.set(
      schedule.id,
      of.flatMap((each) => (each.from < last ? [{ ...each, to: Math.min(each.to, last) }] : [])),
    );
  }
  return within;
}

function hasOpenRun(
  { id, shard, deletedAt, maxFires }: Limited,
  newest: PlannedSegment | undefined,
  states: ReadonlyMap<number, ShardState>,
): boolean {
  if (newest === undefined || deletedAt !== null || maxFires === null) return false;
  const state = stateOf(states, shard);
  const now = state.now.getTime();
  const planned = Math.min(now, plannedUpTo(state, id).getTime());
  const next = nextRunAfter(newest.cadence, occurrenceDueBy(newest.lag, planned));
  return next !== null && next <= Math.min(newest.to, now);
}

/** The last run until now that the limit allows, or now. */
function lastAllowed(cadence: Cadence, limit: RunLimit, now: number): number {
  let last = limit.countFrom;
  for (let at = nextRunAfter(cadence, last); at !== null && at <= now; at = nextRunAfter(cadence, last)) {
    if (isBeyond(cadence, at, limit)) return last;
    last = at;
  }
  return now;
}
