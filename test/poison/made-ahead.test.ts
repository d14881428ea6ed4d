import { afterEach, beforeEach, expect, test } from "vitest";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { planSteps, unknownZone } from "./plan-steps.ts";
import { quarantined } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const { occurrencesOf, zoneOf, ticks } = planSteps(() => world);

const keys = ["bad", "good"] as const;
const all = { catchUp: { policy: "all" } };

/**
 * Makes two schedules with jobs for the next minutes; then the zone of `bad` becomes unreadable.
 */
async function madeAhead(body: object = { when: "* * * * *", ...all }): Promise<void> {
  await world.put("bad", { ...body, timezone: "Asia/Tokyo" });
  await world.put("good", { ...body, timezone: "Europe/Berlin" });
  await ticks(1);
  const ahead = (await world.jobs("bad")).filter(({ dueAt }) => dueAt > world.clock.now());
  expect(ahead.length).toBeGreaterThan(0);
  await zoneOf("Asia/Tokyo", unknownZone);
}

const inBerlin = { timezone: "Europe/Berlin" };

test.each([
  ["another cadence", {}, { when: "*/7 * * * *" }],
  ["another cadence and a spread", {}, { when: "*/7 * * * *", spread: "50s" }],
  ["another cadence, from a spread", { spread: "50s" }, { when: "*/7 * * * *", spread: "0s" }],
  ["another limit, from one", { maxFires: 30 }, { when: "*/2 * * * *", maxFires: 20 }],
])(
  "An edit (%s) withdraws the jobs made ahead for a zone that has become unreadable",
  async (_, before, patch) => {
    await madeAhead({ when: "* * * * *", ...all, ...before });
    for (const key of keys) await world.patch(key, { ...patch, ...inBerlin });
    await ticks(40);
    expect(await quarantined(world)).toEqual([]);
    expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
    expect(await world.sql`select distinct fires from carillon.schedules`).toHaveLength(1);
  },
);

test.each([
  ["until it is resumed", {}],
  ["for ten minutes", { ms: 10 * minute }],
])(
  "A pause (%s) withdraws the jobs made ahead for an unreadable zone, and each is made once when it is readable",
  async (_, { ms }: { ms?: number }) => {
    await madeAhead();
    const until = ms === undefined ? {} : { until: new Date(world.clock.now().getTime() + ms) };
    for (const key of keys) await world.pause(key, until);
    await ticks(3);
    expect(
      (await world.jobs("bad")).filter(
        ({ dueAt }) => dueAt > new Date(world.clock.now().getTime() - 3 * minute),
      ),
    ).toEqual([]);
    await zoneOf(unknownZone, "Asia/Tokyo");
    await ticks(3);
    if (ms === undefined) for (const key of keys) await world.resume(key);
    await ticks(20);
    expect(await quarantined(world)).toEqual([]);
    expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
  },
);

test("A pause and a resume within the minutes for which jobs were made lose none of them, although the zone is unreadable", async () => {
  await madeAhead();
  for (const key of keys) await world.pause(key);
  for (const key of keys) await world.resume(key);
  await ticks(6);
  await zoneOf(unknownZone, "Asia/Tokyo");
  await ticks(20);
  expect(await quarantined(world)).toEqual([]);
  expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
});

test("A patch that keeps the cadence keeps the jobs made ahead for an unreadable zone", async () => {
  await madeAhead();
  const before = await occurrencesOf("bad");
  await world.patch("bad", { payload: "new" });
  expect(await occurrencesOf("bad")).toEqual(before);
});

test("A delete withdraws the jobs made ahead for a zone that has become unreadable", async () => {
  await madeAhead();
  await world.remove("bad");
  expect((await world.jobs("bad")).filter(({ dueAt }) => dueAt > world.clock.now())).toEqual([]);
});

test("An edit that drops the calendar makes jobs of the excluded occurrences ahead, although the zone has become unreadable", async () => {
  const deps = { sql: world.sql, queue: world.queue };
  const rules = { dates: [], weekly: ["mon"], except: [] } as const;
  await putCalendar(deps, { name: "c", body: { description: null, rules }, caller: { name: "ann" } });
  await madeAhead({ when: "* * * * *", ...all, calendar: { name: "c", on: "skip" } });
  for (const key of keys) await world.patch(key, { calendar: null, ...inBerlin });
  await ticks(6);
  const good = await occurrencesOf("good");
  expect(good.length).toBeGreaterThan(5);
  expect(await occurrencesOf("bad")).toEqual(good);
});
