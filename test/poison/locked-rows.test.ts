import { afterEach, expect, test } from "vitest";
import { pauseLabel } from "../../lib/plan/shared-holds.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { rowCases } from "./matrix.ts";
import { quarantined } from "./poison.ts";
import { bad, keys, lockedForPatient, neighbours, type Spot } from "./row-poisons.ts";
import { badSchedule, keysWhere, putAll, type Scenario, together } from "./row-scenario.ts";
import { scenarios } from "./row-scenarios.ts";
import { later, putHolidays } from "./scenarios-holds.ts";

let world: Carillon;

afterEach(() => world.stop());

/** Of firing, which has the whole tick, and of workers. */
const notOfTheHouse = ["plan", "release", "catch-up", "claim", "settle"];

const ofTheHouse = rowCases.filter(([row, name]) => name === "locked" && !notOfTheHouse.includes(row));

test.each(ofTheHouse)(
  "House keeping of the consumer %s gives up a locked row before its role would, and has done the rows beside it in the same tick",
  async (row, _, becomes) => {
    const scenario: Scenario = scenarios[row];
    const { consumer, act = (each: Carillon) => each.tick(), done } = scenario;
    world = await carillon();
    await scenario.arrange(world);
    expect(await lockedForPatient(world, await scenario.spot(world), () => act(world))).toBe(0);
    expect(await done(world)).toEqual(becomes === "is done" ? keys : neighbours);
    expect(await quarantined(world)).toMatchObject(
      becomes === "is set aside" ? [{ consumer, reason: expect.stringContaining("55P03") }] : [],
    );
  },
);

test("The retry of plans gives up a locked schedule before its role would, and has planned those beside it in the same tick", async () => {
  world = await carillon();
  await putAll(world, { when: "* * * * *" });
  await together(world);
  await world.sql`delete from carillon.plan`;
  await world.sql`
    insert into carillon.quarantine (consumer, item, schedule_id, reason, detail, first_at, last_at, tries, next_at)
    select 'plan', id::text, id, 'test', jsonb_build_object('version', 1, 'heldSince', null, 'next', null,
      'occurrence', carillon.clock(), 'dueAt', carillon.clock()), carillon.clock(), carillon.clock(), 1, carillon.clock() + interval '1 minute'
    from carillon.schedules`;
  await world.clock.advance(minute);
  await lockedForPatient(world, await badSchedule(), () => world.tick());
  expect(await keysWhere(world, "exists (select from carillon.plan p where p.schedule_id = s.id)")).toEqual(
    neighbours,
  );
  expect(await quarantined(world)).toMatchObject([
    { consumer: "plan", tries: 2, reason: expect.stringContaining("55P03") },
  ]);
});

/** Two of what is carried to schedules, of which the first is the one that is longest open: `c` belongs to it, the others to the second. */
const carried: Record<string, { begin: () => Promise<void>; row: Spot; done: string }> = {
  "hold of a group": {
    begin: async () => {
      for (const key of keys) await world.put(key, { ...later, group: key === bad ? "first" : "second" });
      for (const name of ["first", "second"])
        await pauseLabel(
          world,
          { label: { scope: "group", name }, caller: { name: "ann" } },
          { most: 0, timeIsUp: () => false },
        );
    },
    row: { table: "shared_holds", condition: (row) => `${row}.name = 'first'` },
    done: "s.held_since is not null",
  },
  calendar: {
    begin: async () => {
      for (const name of ["first", "second"]) await putHolidays(world, [], name);
      for (const key of keys)
        await world.put(key, { ...later, calendar: { name: key === bad ? "first" : "second", on: "skip" } });
      for (const name of ["first", "second"]) await putHolidays(world, ["2027-01-01"], name);
    },
    row: { table: "calendars", condition: (row) => `${row}.name = 'first'` },
    done: "s.version = 2",
  },
};

test.each(Object.entries(carried))(
  "A %s whose own row is locked keeps no other from its schedules in the same tick, and goes on with the next",
  async (_, { begin, row, done }) => {
    world = await carillon();
    await begin();
    await lockedForPatient(world, row, () => world.tick());
    expect(await keysWhere(world, done)).toEqual(neighbours);
    await world.tick();
    expect(await keysWhere(world, done)).toEqual(keys);
    expect(await quarantined(world)).toEqual([]);
  },
);
