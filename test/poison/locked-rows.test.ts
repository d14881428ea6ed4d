import { afterEach, expect, test } from "vitest";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import { canaryAuthor, canaryKeys } from "../../lib/canary/canaries.ts";
import { setAside } from "../../lib/quarantine/quarantine.ts";
import { tryEach } from "../../lib/quarantine/try-rows.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { rowCases } from "./matrix.ts";
import { poison, quarantined } from "./poison.ts";
import { bad, keys, lockedForPatient, neighbours, type Spot } from "./row-poisons.ts";
import { badSchedule, idOf, keysWhere, putAll, type Scenario, together } from "./row-scenario.ts";
import { scenarios } from "./row-scenarios.ts";
import { later, putHolidays } from "./scenarios-holds.ts";

let world: Carillon;

afterEach(() => world.stop());

/**
 * Consumers that are not housekeeping. Firing may use the whole tick, and workers have no slice of
 * it, so they may wait longer for a locked row.
 */
const notHousekeeping = ["plan", "release", "catch-up", "claim", "settle"];

const housekeeping = rowCases.filter(([row, name]) => name === "locked" && !notHousekeeping.includes(row));

test.each(housekeeping)(
  "The consumer %s waits for a locked row less than its role's lock timeout, and does the other rows in the same tick",
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

/** The quarantine entry of each schedule holds one occurrence to plan, and its retry is due. */
async function setAllAside(): Promise<void> {
  await putAll(world, { when: "* * * * *" });
  await together(world);
  await world.sql`delete from carillon.plan`;
  await world.sql`
    insert into carillon.quarantine (consumer, item, schedule_id, reason, detail, first_at, last_at, tries, next_at)
    select 'plan', id::text, id, 'test', jsonb_build_object('version', 1, 'heldSince', null, 'next', null,
      'occurrence', carillon.clock(), 'dueAt', carillon.clock()), carillon.clock(), carillon.clock(), 1, carillon.clock() + interval '1 minute'
    from carillon.schedules`;
  await world.clock.advance(minute);
}

test("The retry of plans waits for a locked schedule less than its role's lock timeout, and plans the others in the same tick", async () => {
  world = await carillon();
  await setAllAside();
  await lockedForPatient(world, await badSchedule(), () => world.tick());
  expect(await keysWhere(world, "exists (select from carillon.plan p where p.schedule_id = s.id)")).toEqual(
    neighbours,
  );
  expect(await quarantined(world)).toMatchObject([
    { consumer: "plan", tries: 2, reason: expect.stringContaining("55P03") },
  ]);
});

test("A quarantine entry that another transaction has locked does not stop the retry of other schedules, and is retried by the next tick", async () => {
  world = await carillon();
  await setAllAside();
  const badId = await idOf(world, bad);
  const entry: Spot = { table: "quarantine", condition: (row) => `${row}.item = '${badId}'` };
  await lockedForPatient(world, entry, () => world.tick());
  const planned = "exists (select from carillon.plan p where p.schedule_id = s.id)";
  expect(await keysWhere(world, planned)).toEqual(neighbours);
  expect(await quarantined(world)).toMatchObject([{ item: badId, tries: 1 }]);
  await world.tick();
  expect(await keysWhere(world, planned)).toEqual(keys);
  expect(await quarantined(world)).toEqual([]);
});

test("A row whose quarantine entry is locked is done and keeps the entry, and later rows are done too", async () => {
  world = await carillon();
  const entries = keys.map((item) => ({ item, error: new Error("no") }));
  await setAside(world.sql, "ended", entries);
  const entry: Spot = { table: "quarantine", condition: (row) => `${row}.item = '${bad}'` };
  const done: string[] = [];
  const act = async ({ item }: { item: string }) => done.push(item);
  const rows = keys.map((item) => ({ item, aside: true }));
  await lockedForPatient(world, entry, () =>
    tryEach({ sql: world.as.tick, log: world.log, consumer: "ended" }, rows, act, () => false),
  );
  expect(done).toEqual(keys);
  expect((await quarantined(world)).map(({ item }) => item)).toEqual([bad]);
});

test("An ended hold of a group that cannot be removed does not stop other holds", async () => {
  world = await carillon();
  for (const key of keys) await world.put(key, { ...later, group: key === bad ? "first" : "second" });
  const pause = (name: string, until?: Date) =>
    pauseLabel(
      world,
      { label: { scope: "group", name }, caller: { name: "ann" }, ...(until === undefined ? {} : { until }) },
      { most: 0, timeIsUp: () => false },
    );
  await pause("first", new Date(world.clock.now().getTime() + minute));
  await world.clock.advance(2 * minute);
  await pause("second");
  await poison(world.sql, "shared_holds", "old.name = 'first'");
  await expect(world.tick()).rejects.toThrow("2 parts of the tick failed");
  expect(await keysWhere(world, "s.held_since is not null")).toEqual(neighbours);
});

/**
 * Two holds or calendars to apply to schedules. The first is the oldest, and `c` belongs to it; the
 * others belong to the second.
 */
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
  "A %s whose own row is locked does not stop others in the same tick, and continues with the next tick",
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

test("The tick waits for the locked row of a canary less than its role's lock timeout, and edits the other canary", async () => {
  world = await carillon();
  const canary = { minutes: 5, queue: "http://queues.test/000000000000/canary" };
  await world.tick({ canary });
  const versions = () =>
    world.sql`select key, version from carillon.schedules where created_by = ${canaryAuthor} order by key`;
  const fast: Spot = { table: "schedules", condition: (row) => `${row}.key = '${canaryKeys.fast}'` };
  const tick = () => world.tick({ canary: { ...canary, minutes: 1 } });
  await lockedForPatient(world, fast, () => expect(tick()).rejects.toThrow("lock timeout"));
  expect(await versions()).toEqual([
    { key: canaryKeys.fast, version: 1 },
    { key: canaryKeys.slow, version: 2 },
  ]);
  await tick();
  expect(await versions()).toMatchObject([{ version: 2 }, { version: 2 }]);
});
