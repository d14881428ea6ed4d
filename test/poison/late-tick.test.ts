import { afterEach, beforeEach, expect, test } from "vitest";
import { BatchFailed, fireShardBatch, passFailedRow } from "../../lib/tick/fire/shard-batch.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { planSteps } from "./plan-steps.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const { together, inQuarantine, occurrencesOf, refuseJobsOf, ticks } = planSteps(() => world);

const shard = 3;

/**
 * The first row of the shard belongs to `bad`, and a batch of this row alone has failed. The rows
 * behind it are good.
 */
async function failedBatch(): Promise<BatchFailed> {
  for (const key of ["bad", "good", "other"]) await world.put(key, { when: "* * * * *" });
  await together();
  await refuseJobsOf("bad");
  const failed = await fireShardBatch(world.sql, shard, 1, world.queue.timing).catch(
    (error: unknown) => error,
  );
  if (!(failed instanceof BatchFailed)) throw new Error("The batch did not fail on its row.");
  return failed;
}

test("A row on which two ticks failed at once is set aside by one of them, and no later row is", async () => {
  const failed = await failedBatch();
  const both = await Promise.all([
    passFailedRow(world.sql, shard, failed),
    passFailedRow(world.sql, shard, failed),
  ]);
  expect(both.map((aside) => aside.length).toSorted()).toEqual([0, 1]);
  expect(await inQuarantine()).toMatchObject([{ key: "bad", tries: 1 }]);
  await ticks(2);
  expect(await inQuarantine()).toMatchObject([{ key: "bad" }]);
  expect((await occurrencesOf("good")).length).toBeGreaterThan(1);
  expect(await occurrencesOf("other")).toEqual(await occurrencesOf("good"));
});

test("A row that became the first after a batch failed on another one is not set aside", async () => {
  const failed = await failedBatch();
  await world.put("early", { when: "in 5s" });
  await together();
  expect(await passFailedRow(world.sql, shard, failed)).toEqual([]);
  expect(await inQuarantine()).toEqual([]);
  await ticks(2);
  expect(await occurrencesOf("early")).toHaveLength(1);
  expect(await inQuarantine()).toMatchObject([{ key: "bad" }]);
});
