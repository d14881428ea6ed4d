import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { planSteps, unknownZone } from "./plan-steps.ts";
import { quarantined } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(async () => {
  await world.stop();
});

const { occurrencesOf, zoneOf, ticks } = planSteps(() => world);
const keys = ["bad", "good"];

/**
 * Makes two schedules with jobs for the next three minutes; then one of them becomes unreadable.
 */
async function madeAhead(): Promise<void> {
  await world.put("bad", { when: "* * * * *", timezone: "Asia/Tokyo" });
  await world.put("good", { when: "* * * * *", timezone: "Europe/Berlin" });
  await world.tick();
  expect(await occurrencesOf("bad")).toHaveLength(3);
  await zoneOf("Asia/Tokyo", unknownZone);
}

test("An edit to another cadence withdraws jobs made ahead, also of a schedule that has become unreadable", async () => {
  await madeAhead();
  for (const key of keys) await world.patch(key, { when: "every 1h" });
  expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
  expect(await occurrencesOf("good")).toEqual([]);
});

test("A delete withdraws jobs made ahead, also of a schedule that has become unreadable", async () => {
  await madeAhead();
  for (const key of keys) await world.remove(key);
  expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
});

test.each([
  ["a resume", "resume"],
  ["a patch and a resume once it can be read", "patch"],
] as const)(
  "An occurrence due under a pause is not lost by %s of a schedule that has become unreadable",
  async (_, edit) => {
    const rules = { when: "*/5 * * * *", catchUp: { policy: "all" } };
    await world.put("bad", { ...rules, timezone: "Asia/Tokyo" });
    await world.put("good", { ...rules, timezone: "Europe/Berlin" });
    await ticks(2);
    for (const key of keys) await world.pause(key);
    await ticks(12);
    await zoneOf("Asia/Tokyo", unknownZone);
    if (edit === "resume") {
      for (const key of keys) await world.resume(key);
      await ticks(3);
      await zoneOf(unknownZone, "Asia/Tokyo");
    } else {
      for (const key of keys) await world.patch(key, { payload: { now: true } });
      await zoneOf(unknownZone, "Asia/Tokyo");
      for (const key of keys) await world.resume(key);
    }
    await ticks(70);
    expect(await quarantined(world)).toEqual([]);
    expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
  },
);
