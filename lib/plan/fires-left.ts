import { leavesOut, nextRunAfter } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import { countWithin } from "../cadence/count-within.ts";
import type { Tx } from "../db/connect.ts";
import { readJobsAt } from "../job/read-job.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";
import { hadRunsLeft, unfoldHeld, withoutLimit } from "./release.ts";
import { plannedUpTo, readShard, type ShardState } from "./shard.ts";

/** How many more runs `maxFires` allows, counted from the first one after `countFrom`. */
export interface RunLimit {
  maxFires: number;
  /** The jobs that count against it so far. */
  fires: number;
  left: number;
  countFrom: number;
  /** All runs that it allows are made; some may not be due yet. */
  isUsedUp: boolean;
  /** It was used up before the current hold began, so the hold holds nothing back. */
  isBeforeHold: boolean;
}

/**
 * The limit of the coming runs: those due after `now` (while the ticks are behind, those that they have
 * not planned yet too), or after the end of a hold that ends by itself. Null without `maxFires`. A limit that was used up before a hold excludes the occurrences
 * under the hold too: the hold's end releases none of them.
 */
export async function runLimitOf(tx: Tx, stored: StoredSchedule, now: Date): Promise<RunLimit | null> {
  const { maxFires } = stored.body;
  if (maxFires === null) return null;
  const timetable = timetableOf(stored);
  const { heldSince } = stored;
  const isUsedUp = timetable.firesLeft === 0;
  const fires = stored.fires ?? 0;
  if (isUsedUp && heldSince !== null && !(await hadRunsLeftBeforeHold(tx, stored)))
    return {
      maxFires,
      fires,
      left: 0,
      countFrom: occurrenceDueBy(timetable, heldSince.getTime()),
      isUsedUp,
      isBeforeHold: true,
    };
  const state = await readShard(tx, stored.shard);
  // Runs that are due and not planned yet use up the limit too. An edit plans those up to its cut.
  const planned = Math.max(plannedUpTo(state, stored.id).getTime(), stored.updatedAt.getTime());
  const begin = new Date(Math.min(now.getTime(), planned));
  const heldUntil = stored.heldUntil !== null && stored.heldUntil > begin ? stored.heldUntil : null;
  const countFrom = occurrenceDueBy(timetable, (heldUntil ?? begin).getTime());
  const left = await runsLeftAfter(tx, stored, state, { countFrom, heldUntil });
  return { maxFires, fires, left, countFrom, isUsedUp, isBeforeHold: false };
}

async function hadRunsLeftBeforeHold(tx: Tx, stored: StoredSchedule): Promise<boolean> {
  const { heldSince, heldUntil } = stored;
  if (heldSince === null || heldUntil === null) return false;
  const held = unfoldHeld(withoutLimit(timetableOf(stored)), heldSince, heldUntil);
  return hadRunsLeft(tx, stored, heldUntil, held ?? { runs: [] });
}

/**
 * How many more cadence jobs the limit allows for occurrences after an instant, including jobs that
 * the ticks have made ahead of time. Those that the end of a hold will release are not among them.
 */
async function runsLeftAfter(
  tx: Tx,
  stored: StoredSchedule,
  { reachedAt, watermarkAt }: ShardState,
  { countFrom, heldUntil }: { countFrom: number; heldUntil: Date | null },
): Promise<number> {
  const timetable = timetableOf(stored);
  const { firesLeft, cadence } = timetable;
  const reached = Math.max(reachedAt.getTime(), watermarkAt.getTime());
  const upTo = occurrenceDueBy(timetable, reached);
  const planned: { scheduleId: string; occurrence: Date }[] = [];
  let at = nextRunAfter(cadence, countFrom);
  for (; at !== null && at <= upTo; at = nextRunAfter(cadence, at))
    planned.push({ scheduleId: stored.id, occurrence: new Date(at) });
  const ahead = (await readJobsAt(tx, planned)).filter(({ state }) => state !== "skipped").length;
  const { heldSince } = stored;
  const letGo =
    heldSince === null || heldUntil === null || heldUntil.getTime() <= reached
      ? null
      : unfoldHeld(timetable, heldSince, heldUntil);
  const owed = letGo === null ? 0 : letGo.runs.length + letGo.backlog.length;
  return ahead + Math.max(0, (firesLeft ?? 0) - owed);
}

/** More runs than this are not counted one by one; a run beyond them counts as allowed. */
const countedMax = 2_000;

/** Whether a run comes after the last one that the limit allows. */
export function isBeyond(
  cadence: Cadence,
  at: number,
  { left, countFrom }: Pick<RunLimit, "left" | "countFrom">,
): boolean {
  if (at <= countFrom) return false;
  const most = Math.min(left, countedMax);
  if (!leavesOut(cadence)) return countWithin(cadence, countFrom, at, most + 1).count > left;
  let count = 0;
  let run = nextRunAfter(cadence, countFrom);
  for (; run !== null && run <= at && count <= most; run = nextRunAfter(cadence, run)) count += 1;
  return count > left;
}
