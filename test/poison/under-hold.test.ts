import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { hour } from "../support/instants.ts";
import { planSteps, unknownZone } from "./plan-steps.ts";
import { quarantined } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(async () => {
  await world.stop();
});

const keys = ["bad", "good"];
const { occurrencesOf, zoneOf, ticks } = planSteps(() => world);

/**
 * One of two schedules is unreadable for some minutes, is then paused like the other, and is
 * readable again after three minutes.
 */
async function pauseUnread(minutesBefore: number, params: { until?: Date }): Promise<void> {
  const rules = { when: "*/5 * * * *", catchUp: { policy: "all" } };
  await world.put("bad", { ...rules, timezone: "Asia/Tokyo" });
  await world.put("good", { ...rules, timezone: "Europe/Berlin" });
  await zoneOf("Asia/Tokyo", unknownZone);
  await ticks(minutesBefore);
  for (const key of keys) await world.pause(key, params);
  await ticks(3);
  expect(await quarantined(world)).toMatchObject([{ consumer: "plan" }]);
  await zoneOf(unknownZone, "Asia/Tokyo");
}

test.each([0, 12])(
  "A schedule that becomes readable during its pause leaves quarantine, and the resume releases its due jobs (paused after %i minutes)",
  async (minutesBefore) => {
    await pauseUnread(minutesBefore, {});
    await ticks(20);
    expect(await quarantined(world)).toEqual([]);
    expect(await occurrencesOf("bad")).toEqual([]);
    for (const key of keys) await world.resume(key);
    await ticks(6);
    expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
  },
);

test.each([0, 12])(
  "A schedule that becomes readable before its hold ends by itself continues at that end (paused after %i minutes)",
  async (minutesBefore) => {
    const until = new Date(world.clock.now().getTime() + hour);
    await pauseUnread(minutesBefore, { until });
    await ticks(60 - 3 - minutesBefore + 6);
    expect(await quarantined(world)).toEqual([]);
    expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
    expect(
      (
        await world.sql`select from carillon.plan p join carillon.schedules s on s.id = p.schedule_id and s.version = p.version`
      ).length,
    ).toBeGreaterThan(0);
  },
);
