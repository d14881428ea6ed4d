import type { Tx } from "../../lib/db/connect.ts";
import { closeGate, editLock, gate, lockEdit } from "../../lib/db/locks.ts";
import type { Carillon } from "../support/carillon.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";

/**
 * Result of an act that begins while an edit of the schedule has written its rows but has not
 * committed.
 */
export async function whileEdited<T>(
  { sql }: Carillon,
  key: string,
  act: () => Promise<T>,
  { before }: { before: (tx: Tx) => PromiseLike<unknown> },
): Promise<PromiseSettledResult<T>> {
  const acting = await sql.begin(async (tx) => {
    const [schedule] = await tx<{ shard: number }[]>`select shard from carillon.schedules where key = ${key}`;
    if (schedule === undefined) throw new Error(`There is no schedule ${key}.`);
    await lockEdit(tx, schedule.shard);
    await closeGate(tx, schedule.shard);
    await before(tx);
    const settled = Promise.allSettled([act()]);
    await until("the act waits for the edit", async () => {
      const [edits, gates] = await Promise.all([waitingLocks(sql, editLock), waitingLocks(sql, gate)]);
      return edits + gates > 0;
    });
    return { settled };
  });
  const [outcome] = await acting.settled;
  return outcome;
}
