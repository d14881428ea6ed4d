import type { Sql, Tx } from "../../db/connect.ts";
import { clearEndedHolds, hasEndedHold, staysBeyondEnd } from "../../edit/ended-hold.ts";
import { lockForChange } from "../../edit/lock-for-change.ts";
import type { Log } from "../../log/log.ts";
import type { ParcelQueue } from "../../parcel/parcel-queue.ts";
import { readShard } from "../../plan/shard.ts";
import { unfoldingInTime } from "../../plan/unfolding-time.ts";
import { blameOnceLocked, OfNoRow } from "../../quarantine/in-halves.ts";
import { allListedAgain, tryInHalves } from "../../quarantine/try-rows.ts";
import { type EndedHold, removeEndedHolds, schedulesWithEndedHolds } from "../../schedule/holds.ts";
import { lockSchedules, refuseOtherMoment } from "../../schedule/stored/stored-schedule.ts";

const pageMax = 500;
/** Schedules cleared in one transaction, during which claims of their shard wait. */
const togetherMax = 100;

interface Clearing {
  sql: Sql;
  queue: Pick<ParcelQueue, "timing">;
  log: Log;
  timeIsUp: () => boolean;
  note: (error: unknown) => void;
}

/**
 * Removes holds that have ended by themselves, and hold nothing back any more, from their
 * schedules. A schedule that fails is set aside. A schedule not yet planned past the end of its
 * hold, and a shard whose locks are not granted, are left until the next tick.
 */
export async function clearHolds(run: Clearing): Promise<void> {
  const lagging = new Set<string>();
  const locked = new Set<number>();
  let tried: readonly EndedHold[] = [];
  while (!run.timeIsUp()) {
    const without = { without: [...lagging], notOf: [...locked] };
    const page = await schedulesWithEndedHolds(run.sql, { limit: pageMax, ...without });
    if (page.length === 0 || allListedAgain(tried, page)) return;
    tried = page;
    for (const [shard, ofShard] of Map.groupBy(page, (ended) => ended.shard)) {
      for (let from = 0; from < ofShard.length && !run.timeIsUp(); from += togetherMax) {
        const lags = await clearSome(run, shard, ofShard.slice(from, from + togetherMax));
        for (const id of lags ?? []) lagging.add(id);
        if (lags !== null) continue;
        locked.add(shard);
        break;
      }
    }
  }
}

/**
 * Clears the ended holds of some schedules. Returns the schedules that keep theirs, because the ticks
 * have not made the jobs up to its end yet; null if the locks of the shard are not granted.
 */
async function clearSome(
  { sql, queue, log, timeIsUp, note }: Clearing,
  shard: number,
  some: readonly EndedHold[],
): Promise<string[] | null> {
  const lagging: string[] = [];
  const clear = async (part: readonly EndedHold[]) => {
    const look = { shard, ids: part.map(({ item }) => item), briefly: part.length < some.length };
    lagging.push(
      ...(await blameOnceLocked((noteLocked) =>
        unfoldingInTime(queue.timing, part.length, () =>
          sql.begin((tx) => clearInShard(tx, look, noteLocked)),
        ),
      )),
    );
  };
  try {
    await tryInHalves({ sql, log, consumer: "ended-hold" }, some, clear, timeIsUp);
  } catch (error) {
    if (!(error instanceof OfNoRow)) throw error;
    note(error.cause);
    return null;
  }
  return lagging;
}

/**
 * Clears ended holds; other holds of the schedules may stay. If the ticks have not reached the end
 * of a hold, the hold stays until they have made the jobs that it releases. Returns the ids of the
 * schedules with such a hold.
 */
async function clearInShard(
  tx: Tx,
  { shard, ids, briefly }: { shard: number; ids: readonly string[]; briefly: boolean },
  noteLocked: () => void,
): Promise<string[]> {
  const [, schedules, state] = await Promise.all([
    lockForChange(tx, { shards: [shard], briefly, noteLocked, waitingForRows: ids.length }),
    lockSchedules(tx, ids),
    readShard(tx, shard),
  ]);
  refuseOtherMoment(schedules);
  const ended = schedules.filter((schedule) => hasEndedHold(schedule, state));
  const lagging = ended.filter((schedule) => staysBeyondEnd(schedule, state)).map(({ id }) => id);
  await clearEndedHolds(
    tx,
    ended.filter(({ id }) => !lagging.includes(id)),
    state,
  );
  const heldOn = schedules.filter((schedule) => !hasEndedHold(schedule, state));
  await removeEndedHolds(
    tx,
    heldOn.map(({ id }) => id),
    state.now,
  );
  return lagging;
}
