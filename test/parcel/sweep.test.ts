import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { endLease } from "../../lib/parcel/end-lease.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { due, oneParcel } from "../support/parcels.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/** Sweeps as a tick does. */
async function sweepOnce(): Promise<number> {
  const swept = await sweep(world.sql, world.log);
  await handOver(world.sql, world.queue, swept.outgoing);
  return swept.outgoing.length;
}

/** The minutes after the parcel was ready at which the sweep offered it. */
async function offersWithin(minutes: number): Promise<number[]> {
  const offered: number[] = [];
  for (let passed = 0; passed <= minutes; passed++) {
    await world.clock.setNow(at(minute * (passed + 1)));
    if ((await sweepOnce()) > 0) offered.push(passed);
  }
  return offered;
}

const lease = 30 * second;
const attempts = () =>
  world.sql`select attempt, outcome, started_at, finished_at from carillon.attempts order by attempt`;

describe("an unclaimed parcel", () => {
  test("an unclaimed parcel whose messages are lost is offered again after 1, 2, 4 … and then each 32 minutes", async () => {
    world.queue.fate = () => "lost";
    await oneParcel(world, 3);
    expect(await offersWithin(140)).toEqual([1, 3, 7, 15, 31, 63, 95, 127]);
  });

  test("an unclaimed parcel that cannot be sent is offered again at the same intervals", async () => {
    world.queue.outage = new Error("away");
    await oneParcel(world, 3);
    expect(await offersWithin(70)).toEqual([0, 1, 3, 7, 15, 31, 63]);
    world.queue.outage = null;
    await world.clock.setNow(at(200 * minute));
    expect(await sweepOnce()).toBe(1);
    await world.work();
    expect(world.delivered).toHaveLength(3);
  });

  test("a parcel that was never sent is swept 20 seconds after it was made, and arrives in time", async () => {
    world.queue.outage = new Error("away");
    await oneParcel(world, 1);
    world.queue.outage = null;
    await world.clock.setNow(at(19_999));
    expect(await sweepOnce()).toBe(0);
    await world.clock.setNow(at(20 * second));
    expect(await sweepOnce()).toBe(1);
    expect(world.queue.messages).toMatchObject([{ delaySeconds: 39 }]);
  });

  test("a parcel is not offered twice by two sweeps at once", async () => {
    world.queue.fate = () => "lost";
    await oneParcel(world, 1);
    await world.clock.setNow(at(3 * minute));
    const offered = await Promise.all([sweepOnce(), sweepOnce(), sweepOnce()]);
    expect(offered.reduce((sum, count) => sum + count, 0)).toBe(1);
  });

  test("an unclaimed parcel without jobs is deleted when it is claimed at last", async () => {
    world.queue.fate = () => "lost";
    await oneParcel(world, 1);
    await world.clock.setNow(at(30 * second));
    await world.remove("job-0");
    world.queue.fate = () => "arrives";
    await world.clock.setNow(at(3 * minute));
    await sweepOnce();
    await world.work();
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
    expect(await sweepOnce()).toBe(0);
  });

  test("a held parcel is never offered", async () => {
    const id = await oneParcel(world, 1);
    await world.pause("job-0");
    await claimParcel(world.sql, id, lease);
    await world.clock.advance(1_000 * minute);
    expect(await sweepOnce()).toBe(0);
  });
});

describe("a lease that ended", () => {
  test("after the lease of several jobs has ended, each job comes back in its own parcel, and none is charged an attempt", async () => {
    const id = await oneParcel(world, 3);
    await claimParcel(world.sql, id, lease);
    await world.clock.advance(lease + 1);
    expect(await sweepOnce()).toBe(3);
    expect(await claimParcel(world.sql, id, lease)).toMatchObject({ outcome: "gone" });
    const parcels =
      await world.sql`select ready_at, schedule_ids, kinds::text[], ns from carillon.parcels order by schedule_ids`;
    expect(parcels).toMatchObject(
      ["1", "2", "3"].map((schedule) => ({
        ready_at: at(minute + lease + 1),
        schedule_ids: [schedule],
        kinds: ["cadence"],
        ns: [0],
      })),
    );
    expect(await attempts()).toEqual([]);
    world.queue.messages = world.queue.messages.filter(({ body }) => !body.includes(`"${id}"`));
    await world.work();
    expect(world.delivered.map(({ key, attempt }) => [key, attempt])).toEqual(
      expect.arrayContaining([
        ["job-0", 1],
        ["job-1", 1],
        ["job-2", 1],
      ]),
    );
    expect((await world.jobs()).every(({ state, attempt }) => state === "succeeded" && attempt === 1)).toBe(
      true,
    );
  });

  test("the end of a lease counts as an attempt of a job that was alone in its parcel, and after the last attempt the job is dead", async () => {
    const id = await oneParcel(world, 1, { retry: { attempts: 3 } });
    for (const attempt of [1, 2]) {
      await claimParcel(world.sql, id, lease);
      await world.clock.advance(lease + 1);
      expect(await sweepOnce()).toBe(1);
      expect(await world.jobs()).toMatchObject([{ state: "waiting", attempt, startedAt: due, parcelId: id }]);
    }
    await claimParcel(world.sql, id, lease);
    await world.clock.advance(lease + 1);
    expect(await sweepOnce()).toBe(0);
    expect(await world.jobs()).toMatchObject([
      {
        state: "dead",
        attempt: 3,
        reason: "attempts",
        error: expect.stringContaining("lease"),
        parcelId: null,
      },
    ]);
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
    expect(await attempts()).toMatchObject([
      { attempt: 1, outcome: "crashed", started_at: due, finished_at: at(minute + lease) },
      { attempt: 2, outcome: "crashed" },
      { attempt: 3, outcome: "crashed" },
    ]);
  });

  test.each([1, 2])(
    "the end of the lease of a parcel of %i jobs, all of them gone, leaves nothing behind",
    async (count) => {
      const id = await oneParcel(world, count);
      await claimParcel(world.sql, id, lease);
      await world.sql`delete from carillon.jobs`;
      await world.clock.advance(lease + 1);
      expect(await sweepOnce()).toBe(0);
      expect(await world.sql`select from carillon.parcels`).toEqual([]);
    },
  );

  test("after its lease ended, a worker cannot settle a job that was alone, also before another worker has claimed it", async () => {
    const parcel = await claimParcel(world.sql, await oneParcel(world, 1), lease);
    if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
    await world.clock.advance(lease + 1);
    await sweepOnce();
    expect(await settleParcel(world.sql, parcel, [{ kind: "succeeded" }])).toMatchObject({ held: false });
    expect(await world.jobs()).toMatchObject([{ state: "waiting", attempt: 1 }]);
  });

  test("a lease is not taken from a worker at the very instant at which it ends", async () => {
    const id = await oneParcel(world, 1);
    await claimParcel(world.sql, id, lease);
    const [{ fence = 0 } = {}] = await world.sql<{ fence: number }[]>`select fence from carillon.parcels`;
    await world.clock.advance(lease);
    expect(await endLease(world, id, [])).toEqual({ held: false, outgoing: [] });
    expect(await world.sql`select fence, lease_until from carillon.parcels`).toEqual([
      { fence, lease_until: at(minute + lease) },
    ]);
  });

  test("neither the sweep nor a second claim takes a parcel before its lease has ended", async () => {
    const id = await oneParcel(world, 2);
    await claimParcel(world.sql, id, lease);
    await world.clock.advance(lease);
    expect(await sweepOnce()).toBe(0);
    expect(await claimParcel(world.sql, id, lease)).toMatchObject({ outcome: "leased" });
    await world.clock.advance(1);
    expect(await sweepOnce()).toBe(2);
  });
});
