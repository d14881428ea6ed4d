import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { setLimits } from "../../lib/limit/limits.ts";
import { done } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { runWorkers } from "../support/workers.ts";
import { due, dueOnce, ids, parcels, swept, workerOf } from "./limit-world.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const rate = (target: string, count: number, perMs: number, concurrency: number | null = null) =>
  setLimits(world, { target, limits: { concurrency, rate: { count, perMs } }, caller });

const jobs = () => world.delivered.length;

/**
 * Works messages until this number of jobs is done; returns how many more messages were sent for
 * that.
 */
async function workAll(count: number): Promise<number> {
  const before = world.queue.requests.flat().length;
  await runWorkers(
    world,
    {
      fast: 2,
      slow: 10,
      window: 5,
      stepMs: 100,
      ticks: true,
      deliver: (clock) => async (all) => {
        for (const { key, occurrence, attempt, payload } of all)
          world.delivered.push({
            key,
            occurrence: occurrence.toISOString(),
            at: clock.now().toISOString(),
            attempt,
            payload,
          });
        return all.map(() => done);
      },
    },
    () => jobs() >= count,
  );
  return world.queue.requests.flat().length - before;
}

/** The start of each job, from the ledger. */
async function starts(): Promise<number[]> {
  const rows = await world.sql<
    { at: Date }[]
  >`select started_at as at from carillon.jobs where started_at is not null order by 1`;
  return rows.map(({ at: instant }) => instant.getTime());
}

/** The most starts within this time, at any offset. */
async function mostWithin(ms: number): Promise<number> {
  const all = await starts();
  return Math.max(...all.map((from) => all.filter((start) => start >= from && start < from + ms).length));
}

const lastStart = async () => Math.max(...(await starts()));

describe("a rate", () => {
  test("a rate spreads a burst over its time: small parcels, one after the other, each sent once", async () => {
    await rate("handler/a", 10, second);
    await dueOnce(world, "a", 100);
    const sentBefore = world.queue.requests.flat().length;
    await world.tick();
    expect((await parcels(world)).map(({ readyAt, jobs }) => [readyAt, jobs])).toEqual(
      Array.from({ length: 10 }, (_, n) => [at(minute + n * second), 10]),
    );
    expect(world.queue.requests.flat().length - sentBefore).toBe(10);
    await world.clock.setNow(due);
    expect(await workAll(100)).toBe(0);
    expect(world.delivered).toHaveLength(100);
    expect(await mostWithin(second)).toBe(10);
    expect(world.delivered.map(({ key }) => key)).toEqual(world.delivered.map(({ key }) => key).sort());
    expect(await lastStart()).toBe(at(minute + 9 * second).getTime());
  });

  test("a rate below one a second is kept with parcels of one job", async () => {
    await rate("queue/demo", 6, minute);
    await dueOnce(world, "a", 5, { target: { queue: "demo" } });
    await world.tick();
    expect((await parcels(world)).map(({ readyAt }) => readyAt)).toEqual(
      [0, 10, 20, 30, 40].map((n) => at(minute + n * second)),
    );
  });

  test("a burst under a rate continues where the last tick's burst ended, and starts no job before it is due", async () => {
    await rate("queue/demo", 1, second);
    const target = { queue: "demo" };
    await dueOnce(world, "a", 250, { target });
    await dueOnce(world, "b", 2, { target }, at(4 * minute));
    await dueOnce(world, "c", 1, { target }, at(5 * minute + 30 * second));
    await world.tick();
    const readyOf = async (key: string) =>
      (
        await world.sql<{ at: Date }[]>`
          select p.ready_at as at from carillon.parcels p join carillon.schedules s on s.id = p.schedule_ids[1]
          where s.key like ${`${key}-%`} order by 1`
      ).map(({ at: instant }) => instant.getTime() - at(0).getTime());
    await world.clock.setNow(at(100 * second));
    await world.tick();
    expect(await readyOf("b")).toEqual([310 * second, 311 * second]);
    await world.clock.setNow(at(160 * second));
    await world.tick();
    expect(await readyOf("c")).toEqual([330 * second]);
  });

  test("jobs of all shards share one rate, and start in due order", async () => {
    await rate("queue/demo", 1, second);
    for (let n = 0; n < 6; n++)
      await dueOnce(world, `a${n}`, 1, { target: { queue: "demo" } }, at(minute + n));
    await world.sql`update carillon.schedules set shard = 15 - id % 16`;
    await world.sql`update carillon.plan set shard = 15 - schedule_id % 16`;
    await world.tick();
    expect((await parcels(world)).map(({ readyAt }) => readyAt?.getTime())).toEqual(
      [0, 1, 2, 3, 4, 5].map((n) => at(minute + n * second).getTime()),
    );
  });

  test("a rate is kept for a burst that was not spread, at the cost of one more message each", async () => {
    await dueOnce(world, "a", 60, { target: { queue: "demo" } });
    await world.tick();
    await world.clock.setNow(due);
    await rate("queue/demo", 2, second);
    expect(await workAll(60)).toBeLessThanOrEqual(2 * 30 + 6);
    expect(world.delivered).toHaveLength(60);
    expect(await mostWithin(second)).toBe(2);
    expect((await lastStart()) - due.getTime()).toBeLessThan(31 * second);
  });

  test("a rate is kept after the workers were away for long: no parcel starts together with those behind it", async () => {
    await rate("handler/a", 1, second);
    await dueOnce(world, "a", 60);
    await world.tick();
    await world.clock.setNow(at(10 * minute));
    await workAll(60);
    expect(world.delivered).toHaveLength(60);
    expect(await mostWithin(second)).toBeLessThanOrEqual(2);
    expect(await mostWithin(10 * second)).toBeLessThanOrEqual(12);
    expect((await lastStart()) - at(10 * minute).getTime()).toBeLessThan(65 * second);
  });

  test("a job that is claimed after its start by the rate starts at once, and all jobs behind it start as much later", async () => {
    await rate("queue/demo", 1, second);
    for (let n = 0; n < 4; n++) await fireNowOf(`a${n}`);
    const { claim, claimed } = workerOf(world);
    const [one = "", two = "", three = "", four = ""] = await ids(world);
    await claimed(one);
    for (const [id, waitMs] of [
      [two, 1_000],
      [three, 2_000],
      [four, 3_000],
    ] as const)
      expect(await claim(id)).toMatchObject({ outcome: "early", waitMs });
    await world.clock.advance(10 * second);
    await claimed(two);
    expect(await claim(four)).toMatchObject({ outcome: "early", waitMs: 2_000 });
    await world.clock.advance(second);
    await claimed(three);
    await world.clock.advance(second);
    await claimed(four);
  });

  test("the spread never looks further ahead than two minutes: later parcels wait, and a high priority comes before them", async () => {
    await rate("queue/demo", 1, minute);
    for (let n = 0; n < 6; n++) await fireNowOf(`a${n}`);
    const { claim, claimed } = workerOf(world);
    const [one = "", two = "", three = "", four = "", five = "", six = ""] = await ids(world);
    await claimed(one);
    const outcomes = [];
    for (const id of [two, three, four, five, six]) outcomes.push((await claim(id)).outcome);
    expect(outcomes).toEqual(["early", "early", "held", "held", "held"]);
    await fireNowOf("high", { priority: "high" });
    const [high = ""] = (await parcels(world)).filter(({ priority }) => priority === -1).map(({ id }) => id);
    expect(await claim(high)).toMatchObject({ outcome: "held" });
    await world.clock.advance(minute);
    const sent = await swept(world);
    expect(sent).toContain(high);
    for (const id of [four, five, six]) expect(sent).not.toContain(id);
  });

  test("a rate and a limit of concurrency apply together", async () => {
    await rate("handler/a", 2, second, 2);
    await dueOnce(world, "a", 8);
    await world.tick();
    await world.clock.setNow(at(2 * minute));
    const { claim, claimed, settle } = workerOf(world, 5);
    const [one = "", two = "", three = ""] = await ids(world);
    const first = await claimed(one);
    expect(first).toMatchObject({ slots: 2, jobs: [{}, {}] });
    expect(await claim(two)).toMatchObject({ outcome: "held" });
    expect(await claim(three)).toMatchObject({ outcome: "held" });
    // The second parcel gets its place at once, and its start a second after the last one.
    expect(await settle(first)).toEqual([two]);
    expect(await claim(two)).toMatchObject({ outcome: "early", waitMs: 1_000 });
    await world.clock.advance(second);
    expect((await claimed(two)).slots).toBe(2);
  });

  test("deleting a rate releases all waiting parcels at once", async () => {
    await rate("handler/a", 1, hour);
    await dueOnce(world, "a", 5);
    await world.tick();
    await world.clock.setNow(at(2 * minute));
    await world.work();
    expect(world.delivered).toHaveLength(1);
    await setLimits(world, { target: "handler/a", limits: { concurrency: null, rate: null }, caller });
    await world.work();
    expect(world.delivered).toHaveLength(5);
  });

  test("the rate of a handler is kept with the rights that each function has in production", async () => {
    await world.stop();
    world = await carillon({ roles: functionRoles });
    await rate("handler/a", 10, second);
    world.window = 2;
    await dueOnce(world, "a", 50);
    await world.tick();
    await world.clock.setNow(due);
    await workAll(50);
    expect(world.delivered).toHaveLength(50);
    expect(await mostWithin(second)).toBe(10);
  });
});

async function fireNowOf(key: string, body: object = {}): Promise<void> {
  await world.put(key, { when: `at ${at(hour).toISOString()}`, target: { queue: "demo" }, ...body });
  await fireNow(world, { key, caller });
}
