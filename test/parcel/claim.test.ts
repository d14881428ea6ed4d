import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import { due, oneParcel } from "../support/parcels.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const lease = 30 * second;
const claim = (id: string) => claimParcel(world.sql, id, lease);

async function claimed(id: string): Promise<ClaimedParcel> {
  const parcel = await claim(id);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
  return parcel;
}

describe("a claim", () => {
  test("a claim takes the parcel under a lease and a new fence, with the present data of its schedules", async () => {
    const id = await oneParcel(world, 2, { group: "g", retry: { attempts: 3 }, timeout: "10s" });
    await world.patch("job-1", { payload: "edited", target: { queue: "other" } });
    const { jobs, ...parcel } = await claimed(id);
    expect(parcel).toEqual({
      outcome: "claimed",
      id,
      fence: expect.any(Number),
      slots: 2,
      company: 0,
      claimedAt: due,
      freed: [],
    });
    expect(jobs).toMatchObject([
      {
        key: "job-0",
        group: "g",
        payload: 0,
        target: { queue: "demo" },
        dueAt: due,
        occurrence: due,
        kind: "cadence",
        n: 0,
        attempt: 0,
      },
      { key: "job-1", payload: "edited", target: { queue: "other" }, timeout: "10s" },
    ]);
    const retry = { attempts: 3, backoff: "exponential", base: "10s", max: "1h", jitter: "full" };
    expect(jobs[0]?.retry).toEqual(retry);
    expect(await world.sql`select claimed_at, lease_until, offer_at from carillon.parcels`).toEqual([
      { claimed_at: due, lease_until: at(minute + lease), offer_at: at(minute + lease) },
    ]);
  });

  test("a claim of a parcel that is not ready returns the time to wait, and takes nothing", async () => {
    const id = await oneParcel(world, 1);
    await world.clock.setNow(at(minute - 1));
    expect(await claim(id)).toEqual({ outcome: "early", waitMs: 1, freed: [] });
    await world.clock.setNow(at(-48 * hour));
    expect(await claim(id)).toEqual({ outcome: "early", waitMs: 24 * hour, freed: [] });
    expect(await world.sql`select fence from carillon.parcels`).toEqual([{ fence: 0 }]);
  });

  test("a claim of a parcel under a lease takes nothing, also if that lease has just ended", async () => {
    const id = await oneParcel(world, 1);
    await claimed(id);
    expect(await claim(id)).toMatchObject({ outcome: "leased" });
    await world.clock.advance(lease);
    expect(await claim(id)).toMatchObject({ outcome: "leased" });
    await world.clock.advance(1);
    expect(await claim(id)).toMatchObject({ outcome: "ended" });
  });

  test("among many claims at once, only one gets the parcel", async () => {
    const id = await oneParcel(world, 3);
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => claim(id)));
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(["claimed", ...Array(7).fill("leased")]);
  });

  test("a claim of a settled or unknown parcel finds nothing", async () => {
    const id = await oneParcel(world, 1);
    const parcel = await claimed(id);
    await settleParcel(world.sql, parcel, [{ kind: "succeeded" }]);
    expect(await claim(id)).toEqual({ outcome: "gone", waitMs: 0, freed: [] });
    expect(await claim("9223372036854775807")).toEqual({ outcome: "gone", waitMs: 0, freed: [] });
  });

  test("a claim leaves out jobs that were withdrawn", async () => {
    const id = await oneParcel(world, 2);
    await world.clock.setNow(at(30 * second));
    await world.patch("job-0", { when: "in 1h" });
    await world.clock.setNow(due);
    expect((await claimed(id)).jobs.map(({ key }) => key)).toEqual(["job-1"]);
  });

  test("a claim deletes a parcel whose jobs are all gone", async () => {
    const id = await oneParcel(world, 1);
    await world.clock.setNow(at(30 * second));
    await world.remove("job-0");
    await world.clock.setNow(due);
    expect(await claim(id)).toEqual({ outcome: "empty", waitMs: 0, freed: [] });
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
  });

  test("a claim leaves a job that was withdrawn and made again to its new parcel", async () => {
    const id = await oneParcel(world, 1);
    await world.clock.setNow(at(30 * second));
    await world.patch("job-0", { payload: "again" });
    await world.clock.setNow(due);
    expect(await claim(id)).toMatchObject({ outcome: "empty" });
    const [job] = await world.jobs();
    expect((await claimed(job?.parcelId ?? "")).jobs).toMatchObject([{ payload: "again" }]);
  });

  test("a claim moves the jobs of a held schedule into a parcel that waits, cancels those of a deleted one, and takes the others", async () => {
    const id = await oneParcel(world, 3);
    await world.pause("job-0");
    await world.remove("job-1");
    expect((await claimed(id)).jobs.map(({ key }) => key)).toEqual(["job-2"]);
    const jobs = await world.jobs();
    expect(jobs).toMatchObject([
      { key: "job-0", state: "waiting", attempt: 0 },
      { key: "job-1", state: "cancelled", reason: "deleted", finishedAt: due, parcelId: null },
      { key: "job-2", state: "waiting", parcelId: id },
    ]);
    const parked = jobs[0]?.parcelId ?? "";
    expect(parked).not.toBe(id);
    expect(await claim(parked)).toEqual({ outcome: "held", waitMs: 0, freed: [] });
  });

  test("a manual job of a held schedule may start", async () => {
    const id = await oneParcel(world, 1);
    await world.pause("job-0");
    await world.sql`update carillon.jobs set kind = 'manual', n = 1`;
    await world.sql`update carillon.parcels set kinds = '{manual}', ns = '{1}'`;
    expect((await claimed(id)).jobs).toMatchObject([{ kind: "manual", n: 1 }]);
  });

  test("a claim moves jobs to the other queue if their schedule has another kind of target since, several in one parcel", async () => {
    const id = await oneParcel(world, 13);
    for (let n = 0; n < 12; n++) await world.patch(`job-${n}`, { target: { queue: null, handler: "greet" } });
    expect((await claimed(id)).jobs.map(({ key }) => key)).toEqual(["job-12"]);
    const moved = await world.sql`
      select queue, cardinality(occurrences) as jobs, ready_at from carillon.parcels where id <> ${id} order by 2`;
    expect(moved).toEqual([
      { queue: "slow", jobs: 2, ready_at: due },
      { queue: "slow", jobs: 10, ready_at: due },
    ]);
    await world.tick();
    await world.work();
    expect(world.delivered.map(({ key }) => key).sort()).toEqual(
      Array.from({ length: 12 }, (_, n) => `job-${n}`).sort(),
    );
  });
});
