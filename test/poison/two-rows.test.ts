import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { hour, minute } from "../support/instants.ts";
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

/**
 * Two schedules are held for an hour. For `bad`, the plan rows of the end of the hold and of the
 * next occurrence are both set aside.
 */
async function passBoth(ticksAtTheEnd: number, rules: object): Promise<void> {
  const until = new Date(world.clock.now().getTime() + hour);
  for (const [key, timezone] of [
    ["bad", "Asia/Tokyo"],
    ["good", "Europe/Berlin"],
  ] as const) {
    await world.put(key, { when: "*/5 * * * *", timezone, ...rules });
    await world.pause(key, { until });
  }
  await world.clock.advance(50 * minute);
  await world.tick();
  await zoneOf("Asia/Tokyo", unknownZone);
  if (ticksAtTheEnd === 1) await world.clock.advance(19 * minute);
  await ticks(ticksAtTheEnd);
  expect(await quarantined(world)).toMatchObject([{ consumer: "plan" }]);
  await zoneOf(unknownZone, "Asia/Tokyo");
}

const all = { catchUp: { policy: "all" } };

const passed = [
  ["one after the other", 20, all],
  ["by one batch", 1, all],
  ["by one batch, of a schedule without rules beyond its cadence", 1, {}],
] as const;

test.each(passed)(
  "A schedule loses nothing when the plan rows of its hold's end and of its next occurrence are both set aside (%s)",
  async (_, ticksAtTheEnd, rules) => {
    await passBoth(ticksAtTheEnd, rules);
    await ticks(80);
    expect(await quarantined(world)).toEqual([]);
    expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
  },
);

test.each(passed)(
  "An edit loses nothing when the plan rows of a hold's end and of the next occurrence are both set aside (%s)",
  async (_, ticksAtTheEnd, rules) => {
    await passBoth(ticksAtTheEnd, rules);
    for (const key of ["bad", "good"]) await world.patch(key, { payload: { now: true } });
    expect(await quarantined(world)).toEqual([]);
    await ticks(80);
    expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
  },
);

test.each([
  ["until it is resumed", null],
  ["for an hour", hour],
])(
  "A schedule that is paused (%s) while unreadable, and patched once readable, loses no occurrence due before the pause",
  async (_, ms) => {
    await world.put("bad", { when: "*/5 * * * *", timezone: "Asia/Tokyo", ...all });
    await world.put("good", { when: "*/5 * * * *", timezone: "Europe/Berlin", ...all });
    await zoneOf("Asia/Tokyo", unknownZone);
    await ticks(12);
    const params = ms === null ? {} : { until: new Date(world.clock.now().getTime() + ms) };
    for (const key of ["bad", "good"]) await world.pause(key, params);
    await ticks(3);
    await zoneOf(unknownZone, "Asia/Tokyo");
    for (const key of ["bad", "good"]) await world.patch(key, { payload: { now: true } });
    await ticks(3);
    if (ms === null) for (const key of ["bad", "good"]) await world.resume(key);
    await ticks(70);
    expect(await quarantined(world)).toEqual([]);
    expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
  },
);
