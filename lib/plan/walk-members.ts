import type { Sql } from "../db/connect.ts";
import { sqlState } from "../db/sql-state.ts";
import { handOver } from "../parcel/hand-over.ts";
import { endWalk, type Member, moveReached, nextMembers, type SharedHold } from "../schedule/shared-holds.ts";
import { bindMembers } from "./bind-members.ts";
import type { EditDeps } from "./edit-transaction.ts";

export interface WalkBounds {
  /** So many members at most. */
  most: number;
  timeIsUp: () => boolean;
}

export interface Walked {
  done: number;
  /** What kept a member from being changed; the walk has not gone past it. */
  failure?: unknown;
}

/** Looked up at a time; of them those of one shard are changed together. */
const pageMax = 3_200;

/** Claims of a shard wait while members of it are changed. */
const batchMax = 200;

/**
 * Carries a hold, or its release, to the members that do not have it yet, until none is left or a bound is reached. It may be killed anywhere
 * and run beside itself: who comes to a member that is as wanted leaves it alone.
 */
export async function walkMembers(deps: EditDeps, hold: SharedHold, bounds: WalkBounds): Promise<Walked> {
  let reached = hold.reached;
  let done = 0;
  while (reached !== null && done < bounds.most && !bounds.timeIsUp()) {
    const limit = Math.min(pageMax, bounds.most - done);
    const page = await nextMembers(deps.sql, hold, reached, limit);
    const changed = await changePage(deps, hold, page, bounds.timeIsUp);
    done += changed.done;
    if (changed.failure !== undefined || !changed.whole)
      return changed.failure === undefined ? { done } : { done, failure: changed.failure };
    const last = page.at(-1);
    if (last === undefined || page.length < limit) {
      await endWalk(deps.sql, hold);
      return { done };
    }
    reached = last.place;
    await moveReached(deps.sql, hold, reached);
  }
  return { done };
}

/** A batch that fails keeps no other from its turn. */
async function changePage(
  deps: EditDeps,
  hold: SharedHold,
  page: readonly Member[],
  timeIsUp: () => boolean,
): Promise<Walked & { whole: boolean }> {
  let done = 0;
  const failures: unknown[] = [];
  for (const batch of batches(page)) {
    if (timeIsUp()) return { done, whole: false };
    try {
      const changed = await changeBatch(deps, hold, batch);
      // Somebody has asked for something else meanwhile.
      if (changed === "overtaken") return { done, whole: false };
      done += changed;
    } catch (error) {
      failures.push(error);
    }
  }
  return failures.length === 0 ? { done, whole: true } : { done, whole: false, failure: failures[0] };
}

/** Lanes are locked before parcels: a schedule that passes one is changed alone. */
function batches(page: readonly Member[]): Member[][] {
  const found = page.filter(({ laned }) => laned).map((member) => [member]);
  for (const ofShard of Map.groupBy(
    page.filter(({ laned }) => !laned),
    ({ shard }) => shard,
  ).values()) {
    for (let from = 0; from < ofShard.length; from += batchMax)
      found.push(ofShard.slice(from, from + batchMax));
  }
  return found;
}

const attemptsMax = 3;

async function changeBatch(
  { sql, queue }: EditDeps,
  hold: SharedHold,
  members: readonly Member[],
): Promise<number | "overtaken"> {
  let done = 0;
  for (let left = members; left.length > 0; ) {
    const some = left;
    const bound = await wholeAgain(sql, (tx) => bindMembers(tx, hold, some));
    await handOver(sql, queue, bound.parcels);
    if (bound.changed === "overtaken") return "overtaken";
    done += bound.changed;
    left = left.filter(({ id }) => bound.left.has(id));
  }
  return done;
}

async function wholeAgain<T>(sql: Sql, work: Parameters<typeof sql.begin<T>>[0]): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await sql.begin(work);
    } catch (error) {
      const state = sqlState(error);
      const mayPass = state === "deadlock" || state === "serialization_failure";
      if (!mayPass || attempt === attemptsMax) throw error;
    }
  }
}
