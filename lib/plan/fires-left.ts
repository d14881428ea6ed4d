import { nextRunAfter } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { readJobsAt } from "../job/read-job.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";
import { unfoldHeld } from "./release.ts";
import { readShard } from "./shard.ts";

/**
 * How many more cadence jobs the limit allows for occurrences after an instant, including jobs that
 * the ticks have made ahead of time.
 */
export async function firesLeftAfter(
  tx: Tx,
  stored: StoredSchedule,
  { countFrom, heldUntil }: { countFrom: number; heldUntil: Date | null },
): Promise<number | null> {
  const timetable = timetableOf(stored);
  const { firesLeft, cadence } = timetable;
  if (firesLeft === null) return null;
  const { reachedAt, watermarkAt } = await readShard(tx, stored.shard);
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
  return ahead + Math.max(0, firesLeft - owed);
}
