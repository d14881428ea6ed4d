import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineJob, type GroupResults } from "../../lib/job/define-job.ts";
import type { HandlerJob, InTransaction } from "../../lib/job/handler-context.ts";
import { again, done, giveUp } from "../../lib/job/handler-results.ts";
import { at, hour, second } from "../support/instants.ts";
import { type HandlerWorld, handlerWorld } from "./handler-world.ts";

let world: HandlerWorld;
afterEach(() => world.stop());

type Run = (
  jobs: readonly HandlerJob<unknown>[],
  context: InTransaction,
) => Promise<GroupResults | undefined>;

/**
 * Three jobs of one group, due together, in one parcel; the handler writes their keys in one
 * transaction.
 */
async function threeTogether(run: Run): Promise<void> {
  const together = defineJob({
    name: "together",
    payload: z.unknown(),
    grouped: true,
    run: async (jobs, context) => {
      for (const { key } of jobs) await context.sql`insert into written values (${key})`;
      return run(jobs, context);
    },
  });
  world = await handlerWorld(together);
  const retry = { base: "1m", max: "1m" };
  for (const key of ["a", "b", "c"])
    await world.put(key, {
      when: `at ${at(10 * second).toISOString()}`,
      group: "g",
      target: { handler: "together" },
      retry,
    });
  await world.sql`update carillon.schedules set shard = 0`;
  await world.sql`update carillon.plan set shard = 0`;
  await world.clock.advance(10 * second);
  expect(await world.runDue()).toBe(0);
}

const states = async () =>
  (await world.jobs()).map(({ key, state, attempt }) => `${key} ${state} ${attempt}`);

const idOf = (jobs: readonly HandlerJob<unknown>[], key: string) =>
  jobs.find((job) => job.key === key)?.id ?? "";

describe("the one transaction of a group's jobs", () => {
  test("the transaction of a group settles all of its jobs with the handler's writes", async () => {
    let group: string[] = [];
    await threeTogether(async (jobs) => {
      group = jobs.map(({ key }) => key);
      return undefined;
    });
    expect(group).toEqual(["a", "b", "c"]);
    expect(await world.written()).toEqual(["a", "b", "c"]);
    expect(await states()).toEqual(["a succeeded 1", "b succeeded 1", "c succeeded 1"]);
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
  });

  test("the transaction of a group settles the jobs that succeeded, and the others fail", async () => {
    await threeTogether(async (jobs) => [
      [idOf(jobs, "a"), done],
      [idOf(jobs, "b"), giveUp("closed")],
      [idOf(jobs, "c"), again("1h")],
    ]);
    expect(await world.written()).toEqual(["a", "b", "c"]);
    expect(await states()).toEqual(["a succeeded 1", "b dead 1", "c succeeded 1", "c waiting 0"]);
    expect((await world.jobs("c"))[1]?.occurrence).toEqual(at(hour + 10 * second));
  });

  test("the transaction of a group commits nothing if none of its jobs succeeded", async () => {
    await threeTogether(async (jobs) => jobs.map(({ id }) => [id, new Error("no")]));
    expect(await world.written()).toEqual([]);
    expect(await states()).toEqual(["a waiting 1", "b waiting 1", "c waiting 1"]);
  });

  test("the transaction of a group commits nothing if one of its jobs was cancelled meanwhile, and the others start again without it", async () => {
    const meanwhile: string[][] = [];
    await threeTogether(async (jobs) => {
      if (jobs.length < 3) meanwhile.push(await world.written(), await states());
      else
        await world.sql`
          update carillon.jobs set cancel_asked = true
          where schedule_id = (select id from carillon.schedules where key = 'b')`;
      return undefined;
    });
    expect(meanwhile).toEqual([[], ["a waiting 0", "b cancelled 1", "c waiting 0"]]);
    expect(await world.written()).toEqual(["a", "c"]);
    expect(await states()).toEqual(["a succeeded 1", "b cancelled 1", "c succeeded 1"]);
  });
});
