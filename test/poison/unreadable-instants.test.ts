import { afterEach, beforeEach, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { explain } from "../../lib/plan/explain.ts";
import { readSchedule } from "../../lib/plan/read-schedule.ts";
import { listEntries } from "../../lib/quarantine/entries.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { planSteps } from "./plan-steps.ts";
import { quarantined } from "./poison.ts";
import { idOf, together } from "./row-scenario.ts";

/** Postgres holds instants that no Date holds. */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  world.as.tick = connect({ DATABASE_URL: world.databaseUrl }, { max: 2, keepsPlans: false });
});

afterEach(() => world.stop());

const { occurrencesOf } = planSteps(() => world);

const keys = ["a", "b", "c", "d", "e"];

const whens = {
  "shares its cadence": { when: "* * * * *" },
  "has rules of its own": { when: "* * * * *", catchUp: { policy: "all" } },
  "is an interval": { when: "every 1m" },
  "has a spread": { when: "* * * * *", spread: "30s" },
  "has a slot": { when: "* * * * *", slot: "2m" },
};

const cases = Object.entries(whens).flatMap(([rule, body]) =>
  ["infinity", "-infinity", "4000-01-01 BC"].map((instant) => [rule, instant, body] as const),
);

async function spoilt(body: object, instant: string): Promise<string> {
  for (const key of keys) await world.put(key, body);
  await together(world);
  await world.clock.advance(minute);
  await world.tick();
  await world.clock.advance(3 * minute);
  const id = await idOf(world, "c");
  await world.sql`update carillon.plan set occurrence = ${instant}::text::timestamptz where schedule_id = ${id}`;
  return id;
}

test.each(cases)(
  "A schedule (it %s) whose plan row occurs at %s is set aside, those beside it fire in that tick, and it goes on with the occurrence that was due",
  async (_, instant, body) => {
    const id = await spoilt(body, instant);
    await world.tick();
    expect(await quarantined(world)).toMatchObject([{ consumer: "plan", item: id, tries: 1 }]);
    const beside = await occurrencesOf("d");
    expect(beside.length).toBeGreaterThan(3);
    for (const key of ["a", "b", "e"]) expect((await occurrencesOf(key)).length).toBe(beside.length);

    expect(await listEntries(world.sql, { filter: {}, limit: 10 })).toMatchObject({ items: [{ key: "c" }] });
    const told = await explain(world.sql, { key: "c", at: new Date(beside.at(-1) ?? "") });
    expect(JSON.stringify(told)).toContain("set aside");
    expect((await readSchedule(world.sql, "c"))?.key).toBe("c");

    for (let each = 0; each < 3; each++) {
      await world.clock.advance(minute);
      await world.tick();
    }
    expect(await quarantined(world)).toEqual([]);
    expect((await occurrencesOf("c")).length).toBe((await occurrencesOf("d")).length);
  },
);

test.each(["before", "after"])(
  "An edit of a schedule whose plan row occurs at infinity, %s the tick that meets it, loses nothing and makes nothing twice",
  async (when) => {
    await spoilt({ when: "* * * * *", catchUp: { policy: "all" } }, "infinity");
    if (when === "after") await world.tick();
    for (const key of keys) await world.patch(key, { payload: { edited: true } });
    expect(await quarantined(world)).toEqual([]);
    for (let each = 0; each < 3; each++) {
      await world.clock.advance(minute);
      await world.tick();
    }
    expect(await quarantined(world)).toEqual([]);
    expect((await occurrencesOf("d")).length).toBeGreaterThan(5);
    expect(await occurrencesOf("c")).toEqual(await occurrencesOf("d"));
  },
);

test("A hold whose end plans a row that occurs at infinity lets go what was due under it, by the retry", async () => {
  for (const key of keys) {
    await world.put(key, { when: "* * * * *", catchUp: { policy: "all" } });
    await world.pause(key, { until: new Date(world.clock.now().getTime() + 10 * minute) });
  }
  await together(world);
  const id = await idOf(world, "c");
  await world.sql`update carillon.plan set occurrence = 'infinity' where schedule_id = ${id}`;
  for (let each = 0; each < 20; each++) {
    await world.clock.advance(minute);
    await world.tick();
  }
  expect(await quarantined(world)).toEqual([]);
  expect((await occurrencesOf("d")).length).toBeGreaterThan(15);
  expect(await occurrencesOf("c")).toEqual(await occurrencesOf("d"));
});
