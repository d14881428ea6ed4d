import { afterEach, beforeEach, expect, test } from "vitest";
import type { Tx } from "../../lib/db/connect.ts";
import { lockPlanShared } from "../../lib/db/locks.ts";
import { fireShards } from "../../lib/tick/fire/fire-shards.ts";
import { parcelSending } from "../../lib/tick/fire/parcel-sending.ts";
import { tickDefaults } from "../../lib/tick/tick.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { impatientTick } from "./poison.ts";

let world: Carillon;
beforeEach(async () => {
  world = await carillon();
});
afterEach(() => world.stop());

/** Another transaction takes a lock, and keeps it until it is released. */
async function lockedBy(take: (tx: Tx) => PromiseLike<unknown>) {
  const taken = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const ended = world.sql.begin(async (tx) => {
    await take(tx);
    taken.resolve();
    await release.promise;
  });
  await Promise.race([taken.promise, ended]);
  return { release: release.resolve, ended };
}

test("A shard whose plan an edit locks for longer than the tick waits is fired by the same tick after the edit", async () => {
  await world.put("a", { when: "every 1m" });
  for (const table of ["schedules", "plan", "plan_far"])
    await world.sql`update carillon.${world.sql(table)} set shard = 3`;
  await world.clock.advance(minute);
  await impatientTick(world);
  const edit = await lockedBy((tx) => lockPlanShared(tx, 3));
  let looks = 0;
  const failures: unknown[] = [];
  const run = {
    sql: world.as.tick,
    queue: world.queue,
    log: world.log,
    settings: tickDefaults,
    total: { batches: 0, jobs: 0, parcels: 0, finished: true },
    rated: [],
    note: (error: unknown) => void failures.push(error),
    // The tick checks the time before the first attempt on the shard, and before the second one.
    timeIsUp: () => {
      looks += 1;
      if (looks === 2) edit.release();
      return false;
    },
  };
  await fireShards(run, [3], { sending: parcelSending(run) });
  edit.release();
  await edit.ended;
  expect(failures).toEqual([]);
  expect(run.total.jobs).toBeGreaterThan(0);
  expect(looks).toBeGreaterThan(2);
});
