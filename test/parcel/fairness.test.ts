import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Clock } from "../../lib/clock.ts";
import type { ClaimedJob } from "../../lib/parcel/claimed-job.ts";
import { type Deliver, type Delivery, done, thrown } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { runWorkers } from "../support/workers.ts";
import { due, dueOnce } from "./limit-world.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/** The deliveries with their lateness, by the name of the family. */
let deliveries: { family: string; lateMs: number }[];

beforeEach(() => {
  deliveries = [];
});

/**
 * Runs the jobs of a parcel side by side, as many as it has places; each takes its family's time,
 * and then ends with the given outcome.
 */
function takes(times: Readonly<Record<string, number>>, ends: (job: ClaimedJob) => Delivery = () => done) {
  return (clock: Clock): Deliver =>
    async (jobs, { places }) => {
      const outcomes = new Map<ClaimedJob, Delivery>();
      const waiting = jobs.values();
      const next = async () => {
        for (const job of waiting) {
          const family = job.key.slice(0, job.key.indexOf("-"));
          if (!(await places.take())) return;
          deliveries.push({ family, lateMs: clock.now().getTime() - job.dueAt.getTime() });
          await clock.sleep(times[family] ?? 0);
          places.giveBack();
          outcomes.set(job, ends(job));
        }
      };
      await Promise.all(Array.from({ length: places.count }, next));
      return jobs.map((job) => outcomes.get(job) ?? { kind: "back" });
    };
}

const count = (family: string) => deliveries.filter((each) => each.family === family).length;
const worst = (family: string) =>
  Math.max(...deliveries.filter((each) => each.family === family).map(({ lateMs }) => lateMs));

describe("other targets are not delayed", () => {
  test("a burst of thousands of slow jobs of one family does not delay other families", async () => {
    await dueOnce(world, "burst", 2_000);
    await dueOnce(world, "other", 20, undefined, at(minute + 2 * second));
    await world.tick();
    expect(world.queue.messages.length).toBeLessThan(10);
    await world.clock.setNow(due);
    const deliver = takes({ burst: 100, other: 50 });
    await runWorkers(world, { slow: 10, window: 5, stepMs: 50, deliver }, () => count("burst") === 2_000);
    expect(count("other")).toBe(20);
    expect(worst("other")).toBeLessThanOrEqual(200);
    expect(deliveries.at(-1)?.family).toBe("burst");
    // Two hundred parcels, one after the other on each of five workers, ten jobs side by side in
    // each.
    expect(worst("burst")).toBeLessThanOrEqual(40 * 100 + 500);
  });

  test("a handler that always runs into its timeout does not delay other handlers", async () => {
    await dueOnce(world, "stuck", 300, { target: { handler: "stuck" }, retry: { attempts: 3, base: "1s" } });
    await dueOnce(world, "other", 40, undefined, at(minute + 10 * second));
    await world.tick();
    await world.clock.setNow(due);
    const deliver = takes({ stuck: minute, other: second }, ({ key }) =>
      key.startsWith("stuck") ? thrown(new Error("It took longer than 60s.")) : done,
    );
    await runWorkers(
      world,
      { slow: 10, window: 5, stepMs: 250, ticks: true, deliver },
      () => count("other") === 40,
    );
    expect(count("stuck")).toBeLessThanOrEqual(50);
    // Five workers are left, and a target gets half of them, which is three: its fourth parcel
    // waits for one of the first three.
    expect(worst("other")).toBeLessThanOrEqual(second + 500);
  });

  test("several hosts that hang at once do not delay other hosts", async () => {
    const webhook = (host: string) => ({ target: { webhook: { url: `https://${host}/in` } } });
    await dueOnce(world, "hungA", 100, webhook("a.example.com"));
    await dueOnce(world, "hungB", 100, webhook("b.example.com"));
    await dueOnce(world, "other", 40, undefined, at(minute + 10 * second));
    await world.tick();
    await world.clock.setNow(due);
    const deliver = takes({ hungA: 10 * minute, hungB: 10 * minute, other: second });
    await runWorkers(
      world,
      { slow: 10, window: 5, stepMs: 250, ticks: true, deliver },
      () => count("other") === 40,
    );
    expect(count("hungA") + count("hungB")).toBeLessThanOrEqual(80);
    expect(worst("other")).toBeLessThanOrEqual(4 * second + 500);
  });

  test("a host that hangs does not delay other hosts, though all of its jobs are due before theirs", async () => {
    const webhook = (host: string) => ({ target: { webhook: { url: `https://${host}/in` } } });
    await dueOnce(world, "hung", 500, webhook("hangs.example.com"));
    await dueOnce(world, "other", 30, webhook("api.example.com"), at(minute + second));
    await world.tick();
    await world.clock.setNow(due);
    const deliver = takes({ hung: 10 * minute, other: second });
    await runWorkers(
      world,
      { slow: 4, window: 2, stepMs: 250, ticks: true, deliver },
      () => count("other") === 30,
    );
    expect(count("hung")).toBe(20);
    // Two workers are left, and a target gets one of them: its third parcel waits for the first
    // two.
    expect(worst("other")).toBeLessThanOrEqual(2 * second + 500);
  });

  test("in a burst of fast jobs, parcels leave the queue in the order of their arrival, and none waits for another batch", async () => {
    await dueOnce(world, "burst", 4_000, { target: { queue: "demo" } });
    await dueOnce(world, "other", 20, { target: { queue: "other" } });
    await world.sql`update carillon.schedules set shard = id % 16`;
    await world.sql`update carillon.plan set shard = schedule_id % 16`;
    await world.tick();
    await world.clock.setNow(due);
    const deliver = takes({ burst: 500, other: 500 });
    await runWorkers(
      world,
      { fast: 1, stepMs: 100, deliver },
      () => count("burst") === 4_000 && count("other") === 20,
    );
    // Jobs of one instant share their parcels, so no family comes first.
    expect(worst("other")).toBeLessThanOrEqual(worst("burst"));
    expect(worst("burst")).toBeLessThanOrEqual(1_500);
  });

  test("parcels beyond the limit of a fast target wait in the database and do not delay other targets", async () => {
    await world.sql`select carillon.define_limits('{}', '{}', '{}', '{}')`;
    await world.sql`select carillon.target_named('queue/demo')`;
    await world.sql`update carillon.targets set concurrency = 50 where name = 'queue/demo'`;
    await dueOnce(world, "burst", 2_000, { target: { queue: "demo" } });
    await dueOnce(world, "other", 20, { target: { queue: "other" } }, at(minute + second));
    await world.tick();
    await world.clock.setNow(due);
    const deliver = takes({ burst: second, other: 0 });
    await runWorkers(world, { fast: 2, stepMs: 100, deliver }, () => count("other") === 20);
    expect(count("burst")).toBeLessThanOrEqual(150);
    expect(worst("other")).toBeLessThanOrEqual(1_200);
  });
});
