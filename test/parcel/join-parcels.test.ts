import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parcelMax } from "../../lib/parcel/parcel-queue.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.tick();
});

afterEach(() => world.stop());

const due = at(20 * second).toISOString();
const shards = 16;

async function putMany(count: number, body: (n: number) => object): Promise<void> {
  for (let n = 0; n < count; n++) await world.put(`job-${n}`, body(n));
}

const sizes = async () =>
  (
    await world.sql<{ jobs: number }[]>`
    select cardinality(occurrences) as jobs from carillon.parcels order by 1 desc`
  ).map(({ jobs }) => jobs);

describe("jobs of one handler that are put one by one for one instant", () => {
  test("jobs put one by one for one handler and instant share parcels up to the limit, and each is done once, on time", async () => {
    await putMany(200, () => ({ when: `at ${due}`, target: { handler: "greet" } }));
    const parcels = await sizes();
    expect(parcels.reduce((sum, jobs) => sum + jobs, 0)).toBe(200);
    expect(Math.max(...parcels)).toBeLessThanOrEqual(parcelMax.slow);
    expect(parcels.length).toBeLessThanOrEqual(2 * shards);
    expect(world.queue.messages).toHaveLength(parcels.length);
    await world.clock.setNow(at(20 * second));
    await world.work();
    expect((await world.jobs()).every(({ state, attempt }) => state === "succeeded" && attempt === 1)).toBe(
      true,
    );
    expect(new Set(world.delivered.map(({ key, at: when }) => `${key} ${when}`)).size).toBe(200);
    expect(new Set(world.delivered.map(({ at: when }) => when))).toEqual(new Set([due]));
  });

  test("jobs with another target, priority or due time do not share a parcel", async () => {
    await putMany(64, (n) => ({
      when: `at ${at(20 * second + (n % 4 === 0 ? 400 : 0)).toISOString()}`,
      priority: n % 4 === 1 ? "high" : "normal",
      target: { handler: n % 4 === 2 ? "digest" : "greet" },
      ...(n % 4 === 2 ? { payload: { text: "x" } } : {}),
    }));
    const mixed = await world.sql`
      select p.id from carillon.parcels p cross join lateral unnest(p.occurrences, p.schedule_ids) k (occurrence, id)
      join carillon.schedules s on s.id = k.id
      group by p.id having count(distinct (s.target_id, coalesce(s.priority, 0), k.occurrence)) > 1`;
    expect(mixed).toEqual([]);
  });

  test("a delete of one job leaves the others of its parcel unchanged", async () => {
    await putMany(40, () => ({ when: `at ${due}`, target: { handler: "greet" } }));
    await world.remove("job-7");
    await world.put("job-8", { when: `at ${at(40 * second).toISOString()}`, target: { handler: "greet" } });
    await world.pause("job-9");
    await world.clock.setNow(at(20 * second));
    await world.work();
    expect(world.delivered).toHaveLength(37);
    await world.resume("job-9");
    await world.clock.setNow(at(41 * second));
    await world.work();
    expect(world.delivered).toHaveLength(39);
    expect(new Set(world.delivered.map(({ key }) => key)).has("job-7")).toBe(false);
  });

  test("a job does not go back to a parcel that still lists it from before an edit", async () => {
    await putMany(20, () => ({ when: `at ${due}`, target: { handler: "greet" }, payload: { name: "a" } }));
    for (let n = 0; n < 20; n++) await world.patch(`job-${n}`, { payload: { name: "b" } });
    await world.clock.setNow(at(20 * second));
    await world.work();
    expect(world.delivered.map(({ key }) => key).sort()).toEqual(
      Array.from({ length: 20 }, (_, n) => `job-${n}`).sort(),
    );
  });

  test("a job does not join a parcel that may be claimed at this moment", async () => {
    await putMany(40, () => ({ when: `at ${at(900).toISOString()}`, target: { handler: "greet" } }));
    expect(await sizes()).toEqual(Array.from({ length: 40 }, () => 1));
  });
});
