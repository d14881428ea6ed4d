import { afterEach, beforeEach, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { explain } from "../../lib/explain/explain.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { listEntries } from "../../lib/quarantine/entries.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { planSteps } from "./plan-steps.ts";
import { quarantined } from "./poison.ts";
import { idOf, together } from "./row-scenario.ts";

/** Postgres has instants that a Date cannot hold. */

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
  "A schedule (it %s) whose plan row occurs at %s is set aside, its neighbours fire in that tick, and it continues with the due occurrence",
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
  "An edit of a schedule whose plan row occurs at infinity, %s the tick that reads it, loses nothing and makes nothing twice",
  async (when) => {
    await spoilt({ when: "* * * * *", catchUp: { policy: "all" } }, "infinity");
    await world.clock.advance(4 * minute);
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

test("A hold whose end plans a row that occurs at infinity releases its jobs by the retry", async () => {
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

test.each([
  ["ends at infinity", "until", "infinity"],
  ["ends at -infinity", "until", "-infinity"],
  ["began at infinity", "since", "infinity"],
  ["began at -infinity", "since", "-infinity"],
  ["began long before our era", "since", "4000-01-01 BC"],
])(
  "A hold that %s does not stop others, and its schedule is read, patched and resumed",
  async (_, column, instant) => {
    const until = new Date(world.clock.now().getTime() + 3 * minute);
    for (const key of keys) {
      await world.put(key, { when: "* * * * *" });
      await world.pause(key, { until });
    }
    await together(world);
    const id = await idOf(world, "c");
    await world.sql`update carillon.holds set ${world.sql(column)} = ${instant}::text::timestamptz where schedule_id = ${id}`;
    await world.sql`update carillon.schedules set ${world.sql(`held_${column}`)} = ${instant}::text::timestamptz where id = ${id}`;
    await world.patch("c", { payload: 1 });
    await world.clock.advance(3 * minute);
    await world.tick();
    for (const key of ["a", "b", "d", "e"]) expect((await occurrencesOf(key)).length).toBeGreaterThan(1);

    expect((await readSchedule(world.sql, "c"))?.key).toBe("c");
    expect((await explain(world.sql, { key: "c", at: until })).scheduleId).toBe(id);
    await world.patch("c", { payload: 2 });
    await world.resume("c");
    const from = world.clock.now().toISOString();
    for (let each = 0; each < 5; each++) {
      await world.clock.advance(minute);
      await world.tick();
    }
    const later = async (key: string) => (await occurrencesOf(key)).filter((occurrence) => occurrence > from);
    expect(await later("c")).toEqual(await later("d"));
  },
);

test.each([
  ["infinity", "-infinity"],
  ["-infinity", "infinity"],
  ["4000-01-01 BC", "4000-01-01 BC"],
])(
  "A backlog occurrence at %s, due at %s, does not stop the others, and its schedule is edited",
  async (occurrence, due) => {
    for (const key of keys) await world.put(key, { when: "every 1m", catchUp: { policy: "all" } });
    await together(world);
    await world.tick();
    await world.clock.advance(30 * minute);
    await world.tick({ backlogBudget: 0 });
    const id = await idOf(world, "c");
    await world.sql`
      update carillon.backlog set occurrences[1] = ${occurrence}::text::timestamptz, dues[1] = ${due}::text::timestamptz where schedule_id = ${id}`;
    await world.clock.advance(minute);
    await world.tick();
    expect(await world.sql`select from carillon.backlog where schedule_id <> ${id}`).toEqual([]);
    for (const key of ["a", "b", "d", "e"]) expect((await occurrencesOf(key)).length).toBeGreaterThan(30);
    expect((await explain(world.sql, { key: "c", at: world.clock.now() })).scheduleId).toBe(id);
    await world.patch("c", { payload: 1 });
  },
);
