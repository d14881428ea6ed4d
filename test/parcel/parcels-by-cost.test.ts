import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../lib/job/define-job.ts";
import { setLimits } from "../../lib/limit/limits.ts";
import { turnMs } from "../../lib/target/side-by-side.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { handlerWorld } from "../target/handler-world.ts";
import { due, dueOnce, ids, parcels, workerOf } from "./limit-world.ts";

describe("the parcels of a slow target", () => {
  let world: Carillon;

  beforeEach(async () => {
    world = await carillon();
  });

  afterEach(() => world.stop());

  const target = { handler: "a" };

  /**
   * Jobs of one handler, packed by a tick a minute before they are due, beyond every earlier
   * horizon.
   */
  async function packed(count: number, name = "a", when = due): Promise<number[]> {
    await dueOnce(world, name, count, { target }, when);
    await world.clock.setNow(new Date(when.getTime() - minute));
    await world.tick();
    return sizes();
  }

  const sizes = async () => (await parcels(world, "handler/a")).map(({ jobs }) => jobs);
  const cost = async (ms: number) => {
    const [named] = await world.sql<{ id: number }[]>`select carillon.target_named('handler/a') as id`;
    await world.sql`update carillon.targets set cost_ms = ${ms} where id = ${named?.id ?? null}`;
  };

  /** Works all parcels one after the other, each for this long, and lets a tick update the cost. */
  async function workedFor(ms: number): Promise<void> {
    const { claimed, settle } = workerOf(world, 100);
    for (const id of await ids(world)) {
      const parcel = await claimed(id);
      await world.clock.advance(ms);
      await settle(parcel);
    }
    await world.tick();
  }

  test("a slow parcel holds ten jobs if their cost is unknown, many if they are quick, and ten again if they turn slow", async () => {
    expect(await packed(30)).toEqual([10, 10, 10]);
    await world.clock.setNow(due);
    await workedFor(40);
    expect(await packed(300, "b", at(10 * minute))).toEqual([125, 125, 50]);
    await world.clock.setNow(at(10 * minute));
    await workedFor(30 * second);
    expect(await packed(30, "c", at(30 * minute))).toEqual([10, 10, 10]);
  });

  test("a slow parcel holds 250 jobs at most, however quick they are", async () => {
    await cost(0.01);
    expect(await packed(300)).toEqual([250, 50]);
  });

  test("a slow parcel has at most ten jobs under way at once", async () => {
    await cost(1);
    await packed(100);
    await world.clock.setNow(due);
    const [id = ""] = await ids(world);
    expect(await workerOf(world, 5).claimed(id)).toMatchObject({ slots: 10 });
    expect(await parcels(world)).toMatchObject([{ jobs: 100, slots: 10 }]);
  });

  test("a slow parcel of many jobs uses ten places of a limited target, or the places that are left", async () => {
    await setLimits(world, {
      target: "handler/a",
      limits: { concurrency: 12, rate: null },
      caller: { name: "ann" },
    });
    await cost(10);
    expect(await packed(600)).toEqual([250, 250, 100]);
    await world.clock.setNow(due);
    const [one = "", two = "", three = ""] = await ids(world);
    const { claim, claimed, settle } = workerOf(world, 5);
    const first = await claimed(one);
    expect(first.slots).toBe(10);
    expect(await claimed(two)).toMatchObject({ slots: 2 });
    expect(await claim(three)).toMatchObject({ outcome: "held" });
    expect(await settle(first)).toEqual([three]);
    expect(await claimed(three)).toMatchObject({ slots: 10 });
  });

  test("a slow parcel holds at most the jobs that a rate lets start within a second", async () => {
    const rate = { count: 20, perMs: second };
    await setLimits(world, {
      target: "handler/a",
      limits: { concurrency: null, rate },
      caller: { name: "ann" },
    });
    await cost(1);
    expect(await packed(50)).toEqual([20, 20, 10]);
  });

  test("slow parcels hold one job if the target runs one at a time and jobs take long", async () => {
    await setLimits(world, {
      target: "handler/a",
      limits: { concurrency: 1, rate: null },
      caller: { name: "ann" },
    });
    await cost(30 * second);
    expect(await packed(3)).toEqual([1, 1, 1]);
  });

  test("a claim splits a slow parcel if jobs take much longer by now, and not if they take a little longer", async () => {
    await cost(20);
    expect(await packed(200)).toEqual([200]);
    await world.clock.setNow(due);
    const [id = ""] = await ids(world);
    const { claimed, settle } = workerOf(world, 5);
    await cost(40);
    const little = await claimed(id);
    expect(little.jobs).toHaveLength(200);
    const [back = ""] = await settle(little, { kind: "back" });
    await cost(1_000);
    const first = await claimed(back);
    expect(first.jobs).toHaveLength(10);
    expect(await sizes()).toEqual(Array.from({ length: 20 }, () => 10));
    expect(first.jobs.map(({ key }) => key)).toEqual(
      Array.from({ length: 10 }, (_, i) => `a-${String(i).padStart(3, "0")}`),
    );
  });
});

describe("a handler that turns slow", () => {
  test("a handler that turns slow hands back jobs that did not start, without a counted attempt, and each is done once", async () => {
    const ran: string[] = [];
    let moving = Promise.resolve();
    const turns = defineJob({
      name: "turns",
      payload: z.unknown(),
      run: async ({ key }) => {
        ran.push(key);
        // The ten jobs that run side by side share this wait.
        if (ran.length % 10 === 1) moving = world.clock.advance(turnMs);
        await moving;
      },
    });
    const world = await handlerWorld(turns);
    try {
      await world.put("turns-000", { when: `at ${due.toISOString()}`, target: { handler: "turns" } });
      await world.sql`update carillon.targets set cost_ms = 1 where name = 'handler/turns'`;
      await dueOnce(world, "other", 35, { target: { handler: "turns" } });
      await world.sql`delete from carillon.plan where schedule_id = (select id from carillon.schedules where key = 'turns-000')`;
      await world.tick();
      await world.clock.setNow(due);
      const noted: number[] = [];
      for (let run = 0; run < 4; run++) {
        expect(await world.run()).toBe(0);
        const [work] = await world.sql<
          { jobs: number }[]
        >`select sum(jobs)::int as jobs from carillon.target_work`;
        noted.push(work?.jobs ?? 0);
      }
      expect(ran).toHaveLength(35);
      expect(new Set(ran).size).toBe(35);
      expect(noted).toEqual([10, 20, 30, 35]);
      const states = await world.sql`
        select state, attempt, count(*)::int as jobs from carillon.jobs group by 1, 2`;
      expect(states).toEqual([{ state: "succeeded", attempt: 1, jobs: 35 }]);
    } finally {
      await world.stop();
    }
  });
});
