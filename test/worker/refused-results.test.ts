import { afterEach, beforeEach, expect, test } from "vitest";
import type { ClaimedJob } from "../../lib/parcel/claimed-job.ts";
import { type Delivery, done, failed, thrown } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";
import { due } from "../support/parcels.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/** Runs one parcel, with these outcomes by key. */
async function ended(outcomes: Record<string, Delivery>): Promise<void> {
  for (const key of Object.keys(outcomes))
    await world.put(key, {
      when: `at ${due.toISOString()}`,
      retry: { attempts: 2, base: "3m", backoff: "fixed", jitter: "none" },
    });
  await world.sql`update carillon.schedules set shard = 0`;
  await world.sql`update carillon.plan set shard = 0`;
  await world.tick();
  await world.clock.setNow(due);
  world.outcome = ({ key }: ClaimedJob) => outcomes[key] ?? done;
  expect(await world.work()).toEqual([]);
  expect(world.delivered.map(({ key }) => key).toSorted()).toEqual(Object.keys(outcomes).toSorted());
}

const untold = "Its result could not be stored: the database refused it.";
const again = { state: "waiting", attempt: 1, readyAt: new Date(due.getTime() + 3 * minute) };
const events = () => world.log.lines.map(({ event }) => event);

test("a result with a time that Postgres cannot store fails its job alone, and no other job is delivered again", async () => {
  const far = new Date(8.64e15);
  await ended({
    recheck: { kind: "again", at: far },
    retried: { ...failed("boom"), retryAt: far },
    other: done,
  });
  expect(await world.jobs("other")).toMatchObject([{ state: "succeeded", attempt: 1 }]);
  expect(await world.jobs("recheck")).toMatchObject([{ ...again, error: untold }]);
  expect(await world.jobs("retried")).toMatchObject([{ ...again, error: untold }]);
  expect(events()).toContain("worker.settle-halves");
});

test("a result with a text that Postgres does not take leaves the other results of its parcel unchanged", async () => {
  const odd: Delivery = { ...thrown(new Error("boom")), error: "half\u0000" };
  await ended({ odd, dead: { ...odd, giveUp: true }, failed: failed("plain"), other: done });
  expect(await world.jobs("other")).toMatchObject([{ state: "succeeded", attempt: 1 }]);
  expect(await world.jobs("odd")).toMatchObject([{ ...again, error: untold }]);
  expect(await world.jobs("failed")).toMatchObject([again]);
  expect(await world.jobs("dead")).toMatchObject([{ state: "dead", reason: "gave-up", error: untold }]);
});

test("a result that breaks a constraint of the database fails its job, and the other job is done", async () => {
  await world.sql`alter table carillon.attempts add constraint no_poison check (error not like '%poison%')`;
  await ended({ odd: failed("poison"), other: done });
  expect(await world.jobs()).toMatchObject([
    { key: "odd", ...again, error: untold },
    { key: "other", state: "succeeded" },
  ]);
  await world.clock.setNow(at(minute + 3 * minute));
  await world.work();
  expect(await world.jobs("odd")).toMatchObject([{ state: "dead", reason: "attempts" }]);
});

test("a settle that fails for another reason is no job's fault, and leaves the results unchanged", async () => {
  await world.sql`alter table carillon.attempts rename to attempts_elsewhere`;
  await expect(ended({ odd: failed("boom"), other: done })).rejects.toThrow();
  expect(events()).not.toContain("worker.settle-halves");
});
