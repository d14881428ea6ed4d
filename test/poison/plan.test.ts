import { afterEach, beforeEach, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { listSchedules } from "../../lib/history/search-schedules.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour } from "../support/instants.ts";
import { planSteps, unknownZone } from "./plan-steps.ts";
import { told } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(async () => {
  await world.stop();
});

const { together, inQuarantine, occurrencesOf, zoneOf, refuseJobsOf, ticks } = planSteps(() => world);

test.each([
  ["shares its plan rows", {}],
  ["has rules of its own", { catchUp: { policy: "all" } }],
])(
  "A schedule in a zone that the runtime does not know (it %s) is set aside, and its neighbours fire",
  async (_, rules) => {
    await world.put("bad", { when: "* * * * *", timezone: "Asia/Tokyo", ...rules });
    await world.put("good", { when: "* * * * *", timezone: "Europe/Berlin", ...rules });
    await together();
    await zoneOf("Asia/Tokyo", unknownZone);
    await ticks(2);
    expect(await occurrencesOf("good")).not.toEqual([]);
    expect(await inQuarantine()).toMatchObject([
      { key: "bad", reason: `Error: The time zone ${unknownZone} is not known to this runtime.` },
    ]);
    expect(told(world)[0]?.[0]).toBe("plan");
  },
);

test.each([
  ["plain", {}],
  ["with rules of its own", { catchUp: { policy: "all" } }],
])("A schedule (%s) that becomes readable continues by itself, each occurrence once", async (_, rules) => {
  await world.put("bad", { when: "*/5 * * * *", timezone: "Asia/Tokyo", ...rules });
  await world.put("good", { when: "*/5 * * * *", timezone: "Europe/Berlin", ...rules });
  await together();
  await zoneOf("Asia/Tokyo", unknownZone);
  await ticks(4);
  expect(await inQuarantine()).toMatchObject([{ key: "bad" }]);
  await zoneOf(unknownZone, "Asia/Tokyo");
  await ticks(30);
  expect(await inQuarantine()).toEqual([]);
  const good = await occurrencesOf("good");
  expect(await occurrencesOf("bad")).toEqual(good);
  expect(good.length).toBeGreaterThan(5);
});

test("An unreadable schedule is listed, paused, resumed and deleted like any other, and is not over", async () => {
  await world.put("bad", { when: "* * * * *", timezone: "Asia/Tokyo", deleteOnEnd: true });
  await zoneOf("Asia/Tokyo", unknownZone);
  await ticks(3);
  expect((await world.pause("bad")).schedule).toMatchObject({ state: "paused", nextAt: null });
  await ticks(3);
  expect((await world.resume("bad")).schedule).toMatchObject({ state: "active", nextAt: null });
  await ticks(70);
  expect(await inQuarantine()).toMatchObject([{ key: "bad" }]);
  await world.remove("bad");
  await ticks(70);
  expect(await inQuarantine()).toEqual([]);
});

test("A schedule that was paused and resumed while unreadable continues once readable", async () => {
  await world.put("bad", { when: "*/10 * * * *", timezone: "Asia/Tokyo" });
  await zoneOf("Asia/Tokyo", unknownZone);
  await world.pause("bad");
  await ticks(3);
  await world.resume("bad");
  await ticks(3);
  await zoneOf(unknownZone, "Asia/Tokyo");
  const from = world.clock.now();
  await ticks(90);
  expect(await inQuarantine()).toEqual([]);
  const made = (await occurrencesOf("bad")).filter((at) => at > from.toISOString());
  expect(made.length).toBeGreaterThanOrEqual(3);
  expect(new Set(made).size).toBe(made.length);
});

test("A schedule that is paused after it became readable, before its retry, loses no due occurrence", async () => {
  await world.put("bad", { when: "*/5 * * * *", timezone: "Asia/Tokyo", catchUp: { policy: "all" } });
  await world.put("good", { when: "*/5 * * * *", timezone: "Europe/Berlin", catchUp: { policy: "all" } });
  await zoneOf("Asia/Tokyo", unknownZone);
  await ticks(22);
  await zoneOf(unknownZone, "Asia/Tokyo");
  for (const key of ["bad", "good"]) await world.pause(key);
  expect(await inQuarantine()).toEqual([]);
  expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
});

test("A schedule that is paused, becomes readable and is resumed loses no occurrence due before the pause", async () => {
  await world.put("bad", { when: "*/5 * * * *", timezone: "Asia/Tokyo", catchUp: { policy: "all" } });
  await world.put("good", { when: "*/5 * * * *", timezone: "Europe/Berlin", catchUp: { policy: "all" } });
  await zoneOf("Asia/Tokyo", unknownZone);
  await ticks(12);
  for (const key of ["bad", "good"]) await world.pause(key);
  await zoneOf(unknownZone, "Asia/Tokyo");
  await ticks(3);
  for (const key of ["bad", "good"]) await world.resume(key);
  await ticks(70);
  expect(await inQuarantine()).toEqual([]);
  expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
});

test("An edit that gives a schedule a known zone takes it out of quarantine and plans it", async () => {
  await world.put("bad", { when: "*/5 * * * *", timezone: "Asia/Tokyo" });
  await zoneOf("Asia/Tokyo", unknownZone);
  await ticks(6);
  expect(await inQuarantine()).toMatchObject([{ key: "bad" }]);
  await world.patch("bad", { timezone: "Europe/Berlin" });
  expect(await inQuarantine()).toEqual([]);
  await ticks(6);
  expect(await occurrencesOf("bad")).not.toEqual([]);
});

test.each([
  [
    "an expression that does not read",
    `update carillon.cadences set expression = 'no cron at all' where timezone = 'Asia/Tokyo'`,
  ],
  [
    "a rule for clock changes that does not read",
    `update carillon.cadences set dst = 'gap never' where timezone = 'Asia/Tokyo'`,
  ],
  [
    "stored rules that do not read",
    `update carillon.schedule_versions set body = body || '{"spread": "a while"}' where body ->> 'timezone' = 'Asia/Tokyo'`,
  ],
])("A schedule with %s stops no other of its shard", async (_, spoil) => {
  await world.put("bad", { when: "* * * * *", timezone: "Asia/Tokyo", catchUp: { policy: "all" } });
  await world.put("good", { when: "* * * * *", timezone: "Europe/Berlin", catchUp: { policy: "all" } });
  await together();
  await world.sql.unsafe(spoil);
  await ticks(3);
  expect(await occurrencesOf("good")).not.toEqual([]);
});

test("Rows of deleted or edited schedules stop nothing, and are not set aside", async () => {
  await world.put("gone", { when: "* * * * *", timezone: "Asia/Tokyo" });
  await world.put("good", { when: "* * * * *", timezone: "Europe/Berlin" });
  await together();
  await zoneOf("Asia/Tokyo", unknownZone);
  await world.remove("gone");
  await ticks(3);
  expect(await occurrencesOf("good")).not.toEqual([]);
  expect(told(world)).toEqual([]);
  expect(await inQuarantine()).toEqual([]);
});

test("A row that cannot be written is set aside alone, and fires once it can", async () => {
  for (let each = 0; each < 40; each++) await world.put(`each:${each}`, { when: "*/2 * * * *" });
  await together();
  await refuseJobsOf("each:17");
  await ticks(2);
  expect(await inQuarantine()).toMatchObject([{ key: "each:17" }]);
  for (let each = 0; each < 40; each++)
    if (each !== 17) expect(await occurrencesOf(`each:${each}`), `each:${each}`).not.toEqual([]);
  expect(JSON.stringify(world.log.lines)).not.toContain("a secret");
  await world.sql`drop trigger test_refuse on carillon.jobs`;
  await ticks(30);
  expect(await inQuarantine()).toEqual([]);
  expect(await occurrencesOf("each:17")).toEqual(await occurrencesOf("each:18"));
});

test("A single run that could not be planned is active and not deleted as over, and runs once it can", async () => {
  await world.put("once", { when: "in 2m", deleteOnEnd: true });
  await refuseJobsOf("once");
  await ticks(4);
  expect(await inQuarantine()).toMatchObject([{ key: "once" }]);
  expect(await readSchedule(world.sql, "once")).toMatchObject({ state: "active", nextAt: at("10:02:00") });
  for (const [state, found] of [
    ["active", 1],
    ["ended", 0],
  ] as const)
    expect((await listSchedules(world.sql, { state, limit: 10 })).items).toHaveLength(found);
  await world.sql`drop trigger test_refuse on carillon.jobs`;
  await ticks(10);
  expect(await occurrencesOf("once")).toEqual([at("10:02:00").toISOString()]);
});

test("The end of a hold that cannot be written is set aside, and releases its jobs once it can", async () => {
  const until = new Date(world.clock.now().getTime() + hour);
  for (const key of ["bad", "good"]) {
    await world.put(key, { when: "*/10 * * * *", catchUp: { policy: "all" } });
    await world.pause(key, { until });
  }
  await together();
  await refuseJobsOf("bad");
  await ticks(61);
  expect(await inQuarantine()).toMatchObject([{ key: "bad" }]);
  expect(await occurrencesOf("good")).not.toEqual([]);
  await world.sql`drop trigger test_refuse on carillon.jobs`;
  await ticks(70);
  expect(await inQuarantine()).toEqual([]);
  expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
});
