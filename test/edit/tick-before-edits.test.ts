import { afterEach, beforeEach, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { editLock, planLock } from "../../lib/db/locks.ts";
import { lockForChange } from "../../lib/edit/lock-for-change.ts";
import { patchSchedule } from "../../lib/edit/schedule-edits.ts";
import { fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";

let world: Carillon;
/** Enough connections for all who wait here. */
let sql: Sql;

beforeEach(async () => {
  world = await carillon();
  sql = connect({ DATABASE_URL: world.databaseUrl }, { max: 10 });
});

afterEach(async () => {
  await sql.end();
  await world.stop();
});

/** Keeps a transaction open, with the locks of `lock`, until the returned function is called. */
async function holding(lock: (tx: Parameters<Parameters<Sql["begin"]>[0]>[0]) => PromiseLike<unknown>) {
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const transaction = sql.begin(async (tx) => {
    await lock(tx);
    hold();
    await ended;
  });
  await held;
  return () => {
    end();
    return transaction;
  };
}

const patched = (payload: string) =>
  patchSchedule({ sql, queue: world.queue }, { key: "often", patch: { payload }, caller: { name: "ann" } });

test.each([1, 2])(
  "a tick waits for the edit that is under way, and the edits that queue wait for the tick (%i shards)",
  async (shards) => {
    await world.put("often", { when: "every 1m" });
    const [row] = await sql<{ shard: number }[]>`select shard from carillon.schedules`;
    const shard = row?.shard ?? -1;
    const edited = Array.from({ length: shards }, (_, n) => (shard + n) % 16);
    const endEdit = await holding((tx) => lockForChange(tx, { shards: edited }));
    const queued = [patched("one"), patched("two")];
    await until("two edits queue", async () => (await waitingLocks(sql, editLock)) === 2);
    const ticking = fireShardBatch(sql, shard, 100, world.queue.timing);
    await until("the tick waits for the edit", async () => (await waitingLocks(sql, planLock)) === 1);
    const endReading = await holding((tx) => tx`lock table carillon.jobs in share mode`);
    await endEdit();
    await until("the tick waits to make its jobs, and an edit waits for the tick", async () => {
      const waiting = [
        await waitingLocks(sql),
        await waitingLocks(sql, planLock),
        await waitingLocks(sql, editLock),
      ];
      return String(waiting) === "3,1,1";
    });
    await endReading();
    expect(await ticking).toMatchObject({ jobs: 3 });
    expect((await Promise.all(queued)).map(({ schedule }) => schedule.version).sort()).toEqual([2, 3]);
  },
);
