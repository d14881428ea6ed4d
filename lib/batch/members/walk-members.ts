import type { Timing } from "../../clock.ts";
import type { Sql } from "../../db/connect.ts";
import { conflicts, retrying } from "../../db/retrying.ts";
import type { EditDeps } from "../../edit/edit-transaction.ts";
import { handOver } from "../../parcel/hand-over.ts";
import type { Maker } from "../../plan/make-later.ts";
import { makeAtOnce, owingWhatFails } from "../../plan/maker.ts";
import { unfoldingInTime } from "../../plan/unfolding-time.ts";
import { blameOnceLocked, type Halved, inHalves, OfNoRow } from "../../quarantine/in-halves.ts";
import { asideAmong } from "../../quarantine/quarantine.ts";
import {
  endWalk,
  type Member,
  moveReached,
  nextMembers,
  type SharedHold,
} from "../../schedule/shared-holds.ts";
import { type BindMeans, bindMembers, eachMax } from "./bind-members.ts";
import { hasMembersAside, memberAside } from "./members-aside.ts";

export interface WalkBounds {
  /** Limit of members. */
  most: number;
  timeIsUp: () => boolean;
  /**
   * Called for members that cannot be changed; the walk then goes past them. Without it, the walk
   * stops before them.
   */
  setAside?: (failed: Halved<Member>["failed"]) => Promise<unknown>;
}

export interface Walked {
  done: number;
  /** Whether the walk has passed the last member. */
  atEnd: boolean;
  /** The error of a member that could not be changed; the walk has not gone past it. */
  failure?: unknown;
}

/** Members read at a time; those of neighbouring shards are changed together. */
const pageMax = 3_200;

/** The most members that one transaction changes. Claims of their shards wait meanwhile. */
const batchMax = 200;

/**
 * A transaction begins no further edit of a single member after this time under its locks. On a busy
 * machine an edit took 0.1 s, and 25 of them made claims of the shards wait for 3 s.
 */
const underLocksMs = 150;

/**
 * Applies a hold, or its release, to the members that do not have it yet, until none is left or a
 * limit is reached. It may be killed anywhere and run concurrently: a member that already has the
 * requested state stays unchanged. If members are in quarantine at the end, the walk stays open for
 * them.
 */
export async function walkMembers(deps: EditDeps, hold: SharedHold, bounds: WalkBounds): Promise<Walked> {
  let reached = hold.reached;
  let done = 0;
  while (reached !== null && done < bounds.most && !bounds.timeIsUp()) {
    const limit = Math.min(pageMax, bounds.most - done);
    const page = await nextMembers(deps.sql, hold, reached, limit);
    const members = await withoutAside(deps.sql, hold, page, bounds);
    const changed = await changePage(deps, hold, members, bounds);
    done += changed.done;
    if (!changed.whole) return { done, atEnd: false, failure: changed.failure };
    const last = page.at(-1);
    if (last !== undefined) {
      reached = last.place;
      await moveReached(deps.sql, hold, reached);
    }
    if (page.length === limit) continue;
    if (!(await hasMembersAside(deps.sql, hold))) await endWalk(deps.sql, hold);
    return { done, atEnd: true };
  }
  return { done, atEnd: false };
}

/**
 * Leaves out members that wait in quarantine for their next retry. A page may have such members if
 * the time limit has cut it short and it is read again.
 */
async function withoutAside(
  sql: Sql,
  hold: SharedHold,
  page: readonly Member[],
  { setAside }: WalkBounds,
): Promise<readonly Member[]> {
  if (setAside === undefined || page.length === 0) return page;
  const nameOf = ({ id }: Member) => memberAside(hold, id);
  const aside = await asideAmong(sql, "shared-hold", page.map(nameOf));
  return page.filter((member) => aside.get(nameOf(member))?.waits !== true);
}

interface Changed {
  done: number;
  whole: boolean;
  failure?: unknown;
}

/** Changes the members of a page. A member that fails does not stop the others. */
async function changePage(
  deps: EditDeps,
  hold: SharedHold,
  page: readonly Member[],
  { timeIsUp, setAside }: WalkBounds,
): Promise<Changed> {
  let done = 0;
  let overtaken = false;
  const failures: unknown[] = [];
  const open = batches(page).reverse();
  for (let batch = open.pop(); batch !== undefined; batch = open.pop()) {
    if (timeIsUp()) return { done, whole: false };
    const { length } = batch;
    const change = async (part: readonly Member[]) => {
      const changed = await changeBatch(deps, hold, part, {
        briefly: part.length < length,
        waitsForRows: setAside === undefined,
      });
      if (changed === "overtaken") overtaken = true;
      else done += changed;
    };
    try {
      const { failed, left } = await inHalves(batch, change, () => timeIsUp() || overtaken);
      // Another call has changed the hold meanwhile, or time is up.
      if (overtaken || left.length > 0) return { done, whole: false };
      if (setAside === undefined) failures.push(...failed.map(({ error }) => error));
      else await setAside(failed);
    } catch (error) {
      // The locks of one shard were not granted: the members of the other shards are changed.
      const apart = error instanceof OfNoRow ? apartByShard(batch) : [];
      if (apart.length > 1) open.push(...apart.reverse());
      else failures.push(error instanceof OfNoRow ? error.cause : error);
    }
  }
  return failures.length === 0 ? { done, whole: true } : { done, whole: false, failure: failures[0] };
}

/** Changes one member that was in quarantine, alone. */
export async function changeMember(deps: EditDeps, hold: SharedHold, member: Member): Promise<void> {
  await changeBatch(deps, hold, [member], { briefly: true, waitsForRows: false });
}

/**
 * Members are changed together in the order of their shards, so that each transaction stops the
 * claims of few shards. A member that passes a lane is changed alone, because lanes must be locked
 * before parcels.
 */
function batches(page: readonly Member[]): (readonly Member[])[] {
  const found = page.filter(({ laned }) => laned).map((member) => [member]);
  const others = page.filter(({ laned }) => !laned).sort((a, b) => a.shard - b.shard);
  for (let from = 0; from < others.length; from += batchMax) found.push(others.slice(from, from + batchMax));
  return found;
}

function apartByShard(batch: readonly Member[]): (readonly Member[])[] {
  return [...Map.groupBy(batch, ({ shard }) => shard).values()];
}

/** Counts the time from the call of `noteLocked` on. */
function timedLocks(timing: Timing, noteLocked: () => void): Pick<BindMeans, "noteLocked" | "isLong"> {
  let lockedAt = Number.POSITIVE_INFINITY;
  return {
    noteLocked: () => {
      lockedAt = timing.now();
      noteLocked();
    },
    isLong: () => timing.now() - lockedAt > underLocksMs,
  };
}

async function changeBatch(
  { sql, queue }: EditDeps,
  hold: SharedHold,
  members: readonly Member[],
  waits: { briefly: boolean; waitsForRows: boolean },
): Promise<number | "overtaken"> {
  const { timing } = queue;
  let done = 0;
  let left: readonly Member[] = [];
  // Members with many jobs, or with an edit of their own, are few in each transaction, so they lock few shards.
  for (let some = members; some.length > 0; some = left.slice(0, eachMax)) {
    const bind = (maker: Maker) =>
      blameOnceLocked((noteLocked) =>
        unfoldingInTime(timing, some.length, () =>
          retrying(conflicts, () => {
            const means = { ...waits, ...timedLocks(timing, noteLocked), maker };
            return sql.begin((tx) => bindMembers(tx, hold, some, means));
          }),
        ),
      );
    // If the jobs of a schedule cannot be written, only an edit of that schedule alone shows it. So
    // several schedules are halved.
    const bound = await (some.length === 1 ? owingWhatFails(bind) : bind(makeAtOnce));
    await handOver(sql, queue, bound.parcels);
    if (bound.changed === "overtaken") return "overtaken";
    done += bound.changed;
    left = [...some.filter(({ id }) => bound.left.has(id)), ...left.slice(some.length)];
  }
  return done;
}
