import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { readOutages } from "../../lib/parcel/outages.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { memoryQueue } from "../../lib/tools/testing/memory-queue.ts";
import { crashedCluster } from "../parcel/crashed-cluster.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";
import { live } from "../support/passing-time.ts";
import { recordedLog } from "../support/recorded-log.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

async function outages() {
  const { items } = await readOutages(world.sql, { limit: 100 });
  return items.map(({ what, from, to }) => ({ what, from, to })).toReversed();
}

/** Claims the parcel that has jobs of this schedule alone. */
async function claimOf(key: string): Promise<string> {
  const [parcel] = await world.sql<{ id: string }[]>`
    select p.id from carillon.parcels p join carillon.schedules s on p.schedule_ids = array[s.id] where s.key = ${key}`;
  return (await claimParcel(world.sql, parcel?.id ?? "", minute)).outcome;
}

/** A tick each minute until then, without any worker. */
async function tickUntil(instant: Date): Promise<void> {
  while (world.clock.now() < instant) {
    await world.clock.advance(minute);
    await world.tick();
  }
}

describe("the tick", () => {
  test("ticks that are up to 150 seconds apart are no outage", async () => {
    await world.clock.setNow(at(150 * second));
    await world.tick();
    expect(await outages()).toEqual([]);
  });

  test("a longer gap is an outage of the tick, from the last tick to the next one", async () => {
    await world.clock.setNow(at(6 * minute));
    await world.tick();
    await world.clock.setNow(at(7 * minute));
    await world.tick();
    expect(await outages()).toEqual([{ what: "tick", from: at(0), to: at(6 * minute) }]);
    expect(world.log.lines.filter(({ event }) => event === "tick.outage-over")).toHaveLength(1);
  });

  test("a tick that ran out of time is no gap", async () => {
    await world.clock.setNow(at(2 * minute));
    await tick({ sql: world.sql, queue: world.queue, log: world.log }, tickDefaults, () => true);
    await world.clock.setNow(at(4 * minute));
    await world.tick();
    expect(await outages()).toEqual([]);
  });

  test("a tick that begins in time and takes long to fire is no gap", async () => {
    await world.put("once", { when: `at ${at(4 * minute).toISOString()}` });
    await world.clock.setNow(at(2 * minute));
    let isSlow = true;
    world.queue.sqs.middlewareStack.add(
      (next) => async (args) => {
        if (isSlow) await world.clock.advance(minute);
        isSlow = false;
        return next(args);
      },
      { step: "initialize", priority: "high" },
    );
    await world.tick();
    expect(isSlow).toBe(false);
    expect(await outages()).toEqual([]);
  });

  test("a gap in which a warm tick could not reach the database is an outage of the database", async () => {
    const reach = { failed: true };
    world.more.tick = { reach };
    await world.clock.setNow(at(6 * minute));
    await world.tick();
    expect(await outages()).toEqual([{ what: "database", from: at(0), to: at(6 * minute) }]);
    expect(reach.failed).toBe(false);
  });

  test("outages older than the retention of jobs are forgotten", async () => {
    await world.clock.setNow(at(hour));
    await world.tick();
    await world.clock.setNow(at(40 * day));
    await world.tick({ retentionDays: 35 });
    expect(await outages()).toEqual([{ what: "tick", from: at(hour), to: at(40 * day) }]);
  });
});

describe("the workers of a queue", () => {
  test("parcels that no worker claims for a minute begin an outage, and the next claim ends it", async () => {
    await world.put("often", { when: "*/2 * * * *" });
    await live(world, at(3 * minute));
    await tickUntil(at(10 * minute));
    // The job that was due at 10:04 is the first that was not claimed.
    expect(await outages()).toEqual([{ what: "fast-workers", from: at(4 * minute), to: null }]);
    await world.clock.setNow(at(10 * minute + 20 * second));
    await world.work();
    await tickUntil(at(11 * minute));
    expect(await outages()).toEqual([
      { what: "fast-workers", from: at(4 * minute), to: at(10 * minute + 20 * second) },
    ]);
  });

  test("workers that are busy for long are not away", async () => {
    await world.put("first", { when: `at ${at(minute).toISOString()}` });
    await world.put("second", { when: `at ${at(2 * minute).toISOString()}` });
    await world.tick();
    await world.clock.setNow(at(minute));
    const [first] = await world.sql<{ id: string }[]>`select id from carillon.parcels order by ready_at`;
    const parcel = await claimParcel(world.sql, first?.id ?? "", hour);
    await tickUntil(at(5 * minute));
    expect(await outages()).toEqual([]);
    if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
    await settleParcel(world.sql, parcel, [{ kind: "succeeded" }]);
    await tickUntil(at(7 * minute));
    expect(await outages()).toEqual([{ what: "fast-workers", from: at(5 * minute), to: null }]);
  });

  test("workers whose claims find only jobs of held schedules are at work until the last such claim", async () => {
    await world.put("often", { when: "* * * * *" });
    const ends = [1, 2, 3, 4, 5];
    for (const n of ends) await world.put(`held:${n}`, { when: `at ${at(n * minute).toISOString()}` });
    for (const n of ends) {
      await world.clock.setNow(at(n * minute));
      await world.tick();
      await world.pause(`held:${n}`);
      expect(await claimOf(`held:${n}`)).toBe("empty");
    }
    await tickUntil(at(6 * minute));
    expect(await outages()).toEqual([]);
    await tickUntil(at(8 * minute));
    expect(await outages()).toEqual([{ what: "fast-workers", from: at(6 * minute), to: null }]);
    await world.put("held:9", { when: `at ${at(9 * minute).toISOString()}` });
    await tickUntil(at(9 * minute));
    await world.pause("held:9");
    expect(await claimOf("held:9")).toBe("empty");
    await tickUntil(at(10 * minute));
    expect(await outages()).toEqual([{ what: "fast-workers", from: at(6 * minute), to: at(10 * minute) }]);
  });

  test("an outage ends when nothing is left to claim", async () => {
    await world.put("once", { when: `at ${at(minute).toISOString()}` });
    await tickUntil(at(4 * minute));
    expect(await outages()).toEqual([{ what: "fast-workers", from: at(minute), to: null }]);
    await world.remove("once");
    await world.sql`delete from carillon.parcels`;
    await tickUntil(at(5 * minute));
    expect(await outages()).toMatchObject([{ what: "fast-workers", to: at(5 * minute) }]);
  });

  test("messages that an outage of the tick held back are no outage of the workers", async () => {
    await world.put("often", { when: "* * * * *" });
    await world.clock.setNow(at(10 * minute));
    await world.tick();
    await world.clock.setNow(at(10 * minute + 50 * second));
    await world.tick();
    expect((await outages()).map(({ what }) => what)).toEqual(["tick"]);
  });
});

test("a restart of the database server in a gap makes it an outage of the database", async () => {
  const cluster = await crashedCluster();
  try {
    const log = recordedLog();
    const queue = memoryQueue(cluster.clock, log);
    const ticked = () => tick({ sql: cluster.sql, queue, log }, tickDefaults, () => false);
    await ticked();
    await cluster.sql`checkpoint`;
    await cluster.crash();
    await cluster.sql`update carillon.test_clock set base = ${at(6 * minute)}`;
    await ticked();
    await cluster.sql`update carillon.test_clock set base = ${at(12 * minute)}`;
    await ticked();
    const { items } = await readOutages(cluster.sql, { limit: 10 });
    expect(items.map(({ what, from, to }) => ({ what, from, to }))).toEqual([
      { what: "tick", from: at(6 * minute), to: at(12 * minute) },
      { what: "database", from: at(0), to: at(6 * minute) },
    ]);
    queue.sqs.destroy();
  } finally {
    await cluster.stop();
  }
});
