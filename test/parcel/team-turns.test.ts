import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Clock } from "../../lib/clock.ts";
import { setLimits } from "../../lib/limit/limits.ts";
import { parcelOfMessage } from "../../lib/parcel/parcel-queue.ts";
import type { Deliver } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import { runWorkers } from "../support/workers.ts";
import { due, dueOnce } from "./limit-world.ts";
import {
  allWait,
  countOf,
  type FamilyDelivery,
  inOneShard,
  takes,
  teamOf,
  turnsAt,
  worstOf,
} from "./team-world.ts";

let world: Carillon;
let deliveries: FamilyDelivery[];

beforeEach(async () => {
  world = await carillon();
  deliveries = [];
});

afterEach(() => world.stop());

describe("a large team beside others", () => {
  test("a team's thousands of fast jobs do not delay another team's jobs that are due a second later", async () => {
    await dueOnce(world, "large", 12_500, { target: { queue: "demo" } });
    await dueOnce(world, "few", 20, { target: { queue: "demo" } }, at(minute + second));
    await teamOf(world, "large");
    await teamOf(world, "few");
    await world.tick();
    await world.clock.setNow(due);
    await runWorkers(
      world,
      { fast: 1, stepMs: 100, deliver: takes(deliveries, 500) },
      () => countOf(deliveries, "large") === 12_500,
    );
    expect(countOf(deliveries, "few")).toBe(20);
    // Fifty parcels, ten at a time: thirty of them show that the group is noisy.
    expect(worstOf(deliveries, "few")).toBe(500);
    expect(worstOf(deliveries, "large")).toBe(2_500);
  });

  test("a team's thousands of jobs at a handler do not delay another team's jobs at the same handler", async () => {
    await dueOnce(world, "large", 2_000, { target: { handler: "shared" } });
    await dueOnce(world, "few", 20, { target: { handler: "shared" } }, at(minute + 2 * second));
    await teamOf(world, "large");
    await teamOf(world, "few");
    await world.tick();
    await world.clock.setNow(due);
    const workers = { slow: 10, window: 5, stepMs: 50, deliver: takes(deliveries, 100) };
    await runWorkers(world, workers, () => countOf(deliveries, "large") === 2_000);
    expect(countOf(deliveries, "few")).toBe(20);
    expect(worstOf(deliveries, "few")).toBeLessThanOrEqual(200);
    // Two hundred parcels on five workers, as without teams.
    expect(worstOf(deliveries, "large")).toBeLessThanOrEqual(40 * 100 + 500);
  });

  test("two large teams at one handler have as many workers at a time as their weights say, and one alone has all", async () => {
    await dueOnce(world, "heavy", 600, { target: { handler: "shared" } });
    await dueOnce(world, "light", 400, { target: { handler: "shared" } });
    await teamOf(world, "heavy", 3);
    await teamOf(world, "light");
    await inOneShard(world);
    await world.tick();
    await world.clock.setNow(due);
    const workers = { slow: 8, window: 4, stepMs: 50, deliver: takes(deliveries, 100) };
    await runWorkers(world, workers, () => countOf(deliveries, "heavy") === 600);
    expect(countOf(deliveries, "light")).toBeGreaterThanOrEqual(160);
    expect(countOf(deliveries, "light")).toBeLessThanOrEqual(260);
    await runWorkers(world, workers, () => countOf(deliveries, "light") === 400);
    expect(worstOf(deliveries, "light")).toBeLessThanOrEqual(25 * 100 + 500);
  });

  test("a worker with a parcel of a large team takes along what waits for other teams first", async () => {
    await world.sql`select carillon.target_named('handler/shared')`;
    await world.sql`update carillon.targets set cost_ms = 1 where name = 'handler/shared'`;
    await dueOnce(world, "large", 2_000, { target: { handler: "shared" } });
    await dueOnce(world, "few", 20, { target: { handler: "shared" } }, at(minute + second));
    await world.sql`update carillon.schedules set shard = id % 16 where starts_with(key, 'large-')`;
    await world.sql`update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
    await teamOf(world, "large");
    await teamOf(world, "few");
    await world.tick();
    await world.clock.setNow(due);
    const workers = { slow: 2, window: 1, stepMs: 50, deliver: takes(deliveries, 100) };
    await runWorkers(world, workers, () => countOf(deliveries, "large") === 2_000);
    expect(countOf(deliveries, "few")).toBe(20);
    expect(worstOf(deliveries, "few")).toBeLessThan(worstOf(deliveries, "large") / 2);
  });

  test("small parcels of other teams are not filled up with the jobs of a large team", async () => {
    await dueOnce(world, "large", 200, { target: { handler: "shared" } });
    await dueOnce(world, "few", 4, { target: { handler: "shared" } });
    await world.sql`update carillon.targets set cost_ms = 1 where name = 'handler/shared'`;
    const large = await teamOf(world, "large");
    await inOneShard(world);
    await world.tick();
    await world.clock.setNow(due);
    const mixed = await world.sql<{ id: string }[]>`select id from carillon.parcels where team_id is null`;
    const sizes: number[] = [];
    const deliver =
      (clock: Clock): Deliver =>
      async (jobs, context) => {
        if (jobs.some(({ key }) => key.startsWith("few-"))) sizes.push(jobs.length);
        return takes(deliveries, 100)(clock)(jobs, context);
      };
    await runWorkers(
      world,
      { slow: 4, window: 2, stepMs: 50, deliver },
      () => countOf(deliveries, "few") === 4,
    );
    expect(mixed).toHaveLength(1);
    expect(sizes).toEqual([4]);
    expect(world.queue.requests.flat().map(({ MessageGroupId }) => MessageGroupId)).toContain(
      `team-${large}`,
    );
    expect(world.queue.requests.flat().map(({ MessageBody = "" }) => parcelOfMessage(MessageBody))).toContain(
      mixed[0]?.id,
    );
  });

  test("at a handler with one place, each large team is next as often as its weight says, however old its backlog is", async () => {
    await dueOnce(world, "heavy", 400, { target: { handler: "shared" } });
    await dueOnce(world, "light", 400, { target: { handler: "shared" } }, at(hour));
    const heavy = await teamOf(world, "heavy", 3);
    const light = await teamOf(world, "light");
    for (const minutes of [0, 59]) {
      await world.clock.setNow(at(minutes * minute));
      await world.tick();
    }
    await allWait(world);
    const firsts = { [heavy]: 0, [light]: 0 };
    for (let ms = 0; ms < 400; ms += 1) {
      const [first] = await turnsAt(world, at(hour + ms), 1);
      firsts[first?.team ?? 0] = (firsts[first?.team ?? 0] ?? 0) + 1;
    }
    expect(firsts[heavy]).toBeGreaterThan(270);
    expect(firsts[heavy]).toBeLessThan(330);
    expect(firsts[light]).toBe(400 - (firsts[heavy] ?? 0));
  });

  test("jobs of many small teams are next four times as often as those of a large team", async () => {
    await dueOnce(world, "large", 400, { target: { handler: "shared" } });
    await dueOnce(world, "none", 400, { target: { handler: "shared" } }, at(hour));
    const large = await teamOf(world, "large");
    for (const minutes of [0, 59]) {
      await world.clock.setNow(at(minutes * minute));
      await world.tick();
    }
    await allWait(world);
    let of = 0;
    for (let ms = 0; ms < 400; ms += 1)
      if ((await turnsAt(world, at(hour + ms), 1))[0]?.team === large) of += 1;
    expect(of).toBeGreaterThan(55);
    expect(of).toBeLessThan(105);
  });

  test.each([
    {
      limit: "a rate",
      limits: { concurrency: null, rate: { count: 10, perMs: second } },
      priority: "normal",
      mostMs: 10 * second,
    },
    {
      limit: "a rate",
      limits: { concurrency: null, rate: { count: 10, perMs: second } },
      priority: "high",
      mostMs: 10 * second,
    },
    {
      limit: "one job at once",
      limits: { concurrency: 1, rate: null },
      priority: "high",
      mostMs: 3 * second,
    },
  ])(
    "at a target with a limit of $limit, a team's thousand jobs of $priority priority keep another team waiting for seconds only",
    async (row) => {
      const target = { target: { handler: "shared" } };
      await dueOnce(world, "large", 1_000, { ...target, priority: row.priority });
      await dueOnce(world, "few", 5, target, at(minute + 30 * second));
      await teamOf(world, "large");
      await teamOf(world, "few");
      await setLimits(world, { target: "handler/shared", limits: row.limits, caller: { name: "ann" } });
      await world.tick();
      await world.clock.setNow(due);
      const workers = { slow: 10, window: 5, stepMs: 100, ticks: true, deliver: takes(deliveries, 100) };
      await runWorkers(world, workers, () => countOf(deliveries, "few") === 5);
      expect(worstOf(deliveries, "few")).toBeLessThanOrEqual(row.mostMs);
      // The large team has most of the starts: the limit is used up.
      expect(countOf(deliveries, "large")).toBeGreaterThan(280);
    },
  );

  test("a team whose twenty hosts hang has three quarters of the workers, and other teams' jobs start at once", async () => {
    for (let host = 0; host < 20; host += 1)
      await dueOnce(world, `large-${host}`, 20, { target: { handler: `host-${host}` }, timeout: "10m" });
    for (let n = 0; n < 20; n += 1)
      await dueOnce(world, `few-${n}`, 1, { target: { handler: "quick" } }, at(minute + n * 2 * second));
    await teamOf(world, "large");
    await teamOf(world, "few");
    await world.tick();
    await world.clock.setNow(due);
    const deliver = (clock: Clock): Deliver => {
      const [hanging, quick] = [takes(deliveries, 40 * second)(clock), takes(deliveries, 100)(clock)];
      return (jobs, context) => (jobs[0]?.key.startsWith("large") === true ? hanging : quick)(jobs, context);
    };
    await runWorkers(
      world,
      { slow: 10, window: 5, stepMs: 100, deliver },
      () => countOf(deliveries, "few") === 20,
    );
    expect(worstOf(deliveries, "few")).toBeLessThanOrEqual(200);
    // Ten jobs of each parcel at once: seven parcels.
    expect(countOf(deliveries, "large")).toBe(70);
  });

  test("a team that has as many workers as it may gets the next one for any of its hosts, without a tick", async () => {
    for (let host = 0; host < 30; host += 1)
      await dueOnce(world, `large-${host}`, 2, { target: { handler: `host-${host}` } });
    await teamOf(world, "large");
    await world.tick();
    await world.clock.setNow(due);
    const workers = { slow: 10, window: 5, stepMs: 100, deliver: takes(deliveries, 100) };
    await runWorkers(world, workers, () => countOf(deliveries, "large") === 60);
    // Thirty parcels, seven at a time.
    expect(worstOf(deliveries, "large")).toBeLessThanOrEqual(1_500);
  });

  test("a high priority of one team goes before its own jobs only", async () => {
    await dueOnce(world, "large", 400, { target: { handler: "shared" }, priority: "high" });
    await dueOnce(world, "few", 4, { target: { handler: "shared" } });
    const large = await teamOf(world, "large");
    const few = await teamOf(world, "few");
    await world.tick();
    await allWait(world);
    const firsts = new Map<number, number>();
    for (let ms = 0; ms < 200; ms += 1) {
      const [{ team } = { team: 0 }] = await turnsAt(world, at(minute + ms), 1);
      firsts.set(team, (firsts.get(team) ?? 0) + 1);
    }
    expect(firsts.get(few)).toBeGreaterThan(75);
    expect(firsts.get(large)).toBeGreaterThan(75);
  });

  test("of forty large teams at a handler a claim looks at thirty-two, and at others in each millisecond", async () => {
    await dueOnce(world, "many", 800, { target: { handler: "shared" } });
    await world.tick();
    await world.sql`select carillon.keep_team('team-' || n) from generate_series(1, 40) n`;
    await world.sql`
      update carillon.parcels p set team_id = t.id
      from carillon.teams t where t.id % 40 = p.id % 40`;
    await allWait(world);
    const seen = new Map<number, number>();
    for (let ms = 0; ms < 80; ms += 1) {
      const teams = new Set(
        (await turnsAt(world, new Date(due.getTime() + ms), 1_000)).map(({ team }) => team),
      );
      expect(teams.size).toBeLessThanOrEqual(32);
      for (const team of teams) seen.set(team, (seen.get(team) ?? 0) + 1);
    }
    expect(seen.size).toBe(40);
    expect(Math.min(...seen.values())).toBeGreaterThan(20);
  });
});
