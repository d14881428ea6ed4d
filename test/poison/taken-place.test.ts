import { afterEach, beforeEach, expect, test } from "vitest";
import { readLimits } from "../../lib/limit/limits.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { mend, poison, quarantined, raised } from "./poison.ts";
import { apart } from "./row-scenario.ts";

/**
 * The worker of a parcel has died, and the parcel's row, which has its place at the target, cannot
 * be written.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const keys = ["a", "b", "c", "d"];
const name = "handler/h";

/**
 * The first of four parcels has the only place; its row is bad from now on, and its lease ends.
 * Returns its id.
 */
async function deadAtTheTarget(concurrency: number | null, window: number | null): Promise<string> {
  world.window = window;
  await world.sql`insert into carillon.targets (name, concurrency, share) values (${name}, ${concurrency}, ${window})`;
  for (const [index, key] of keys.entries())
    await world.put(key, {
      when: `at ${at(minute + index * second).toISOString()}`,
      target: { handler: "h" },
    });
  await apart(world);
  await world.tick();
  await world.clock.setNow(at(minute + 5 * second));
  const [first] = await world.jobs("a");
  const id = first?.parcelId ?? "";
  expect(await claimParcel(world.as.worker, id, 30 * second, window)).toMatchObject({ outcome: "claimed" });
  await poison(world.sql, "parcels", `old.id = ${id}`);
  return id;
}

const delivered = () => world.delivered.map(({ key }) => key);

/** Returns the largest number of jobs under way at once. */
function countedWork(): () => number {
  let [now, most] = [0, 0];
  world.outcome = async () => {
    now += 1;
    most = Math.max(most, now);
    await world.sql`select`;
    now -= 1;
    return { kind: "done" };
  };
  return () => most;
}

const cases = [
  ["whose concurrency is limited", 1, null],
  ["whose share of the workers is full", null, 1],
] as const;

test.each(cases)(
  "A parcel under an ended lease that cannot be written frees its place at a target %s, once, and takes one when it is repaired",
  async (_, concurrency, window) => {
    const bad = await deadAtTheTarget(concurrency, window);
    const most = countedWork();
    await world.work();
    expect(delivered()).toEqual([]);
    for (let each = 0; each < 3; each++) {
      await world.clock.advance(minute);
      await world.tick();
      await world.work();
    }
    expect(delivered()).toEqual(["b", "c", "d"]);
    expect(await quarantined(world)).toMatchObject([{ consumer: "lease", item: bad, reason: raised }]);
    expect(await readLimits(world.as.api, name)).toMatchObject({ running: 0, waiting: 0 });

    await mend(world.sql, "parcels");
    for (let each = 0; each < 10; each++) {
      await world.clock.advance(minute);
      await world.tick();
      await world.work();
    }
    expect(delivered()).toEqual(["b", "c", "d", "a"]);
    expect(most()).toBe(1);
    expect(await quarantined(world)).toEqual([]);
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
  },
);

test("A repaired parcel under a new lease has its place, although the entry of the earlier lease is still in quarantine", async () => {
  const bad = await deadAtTheTarget(1, null);
  await world.sql`delete from carillon.jobs where parcel_id <> ${bad}`;
  await world.sql`delete from carillon.parcels where id <> ${bad}`;
  await world.clock.advance(minute);
  await world.tick();
  expect(await world.sql`select from carillon.taken_places`).toEqual([]);
  await mend(world.sql, "parcels");
  // A worker that claims it ends the lease, and another claims it, before the next retry of the
  // entry.
  await world.sql`select from carillon.end_lease(${bad}, 5, '{}')`;
  expect(await claimParcel(world.as.worker, bad, 5 * minute)).toMatchObject({ outcome: "claimed" });
  expect(await quarantined(world)).toMatchObject([{ item: bad }]);
  expect(await world.sql`select slots from carillon.taken_places`).toEqual([{ slots: 1 }]);
});
