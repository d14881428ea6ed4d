import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { fullBody, sparseBody } from "../../lib/schedule/stored/stored-body.ts";
import { type Carillon, carillon } from "../support/carillon.ts";

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
});

afterAll(() => world.stop());

const everything = {
  when: "every 90m",
  timezone: "Europe/Berlin",
  target: { queue: "orders.fifo", groupId: "eu", attributes: { tenant: "a" } },
  payload: {
    deep: [{ "": null, "a b": [1.5, -2, 1e300, 5e-324, "\u0001ü🔔"] }],
    ["__proto__"]: { constructor: 1 },
  },
  group: "order:1",
  tags: ["b", "a"],
  description: "“quoted” \\ and 'so on'",
  catchUp: { limit: 7 },
  retry: { attempts: 1, base: "1s", max: "1m" },
  timeout: "1m30s",
};

describe("the spec of a schedule", () => {
  test("the spec of a schedule is stored without the defaults and read back whole", async () => {
    const least = parseScheduleBody({ when: "every 5m", target: { handler: "greet" } });
    expect(sparseBody(least)).toEqual({ when: "every 5m" });
    for (const body of [least, parseScheduleBody(everything)])
      expect(fullBody(sparseBody(body), body.target, body.payload)).toEqual(body);
  });

  test.each([
    ["everything", everything],
    ["a string", { when: "every 5m", payload: "text" }],
    ["false", { when: "every 5m", payload: false }],
    ["zero", { when: "every 5m", payload: 0 }],
    ["an empty list", { when: "every 5m", payload: [] }],
  ])(
    "the spec of a schedule is read back from the database unchanged, and the same put again changes nothing: %s",
    async (key, body) => {
      await world.put(key, body);
      const expected = parseScheduleBody({ target: { queue: "demo" }, ...body });
      expect((await readSchedule(world.sql, key))?.body).toEqual(expected);
      expect(await world.put(key, body)).toMatchObject({ change: "unchanged", schedule: { body: expected } });
    },
  );

  test("the spec of every version is kept, also with a pause in between", async () => {
    await world.put("versions", { when: "every 5m", payload: 1 });
    await world.pause("versions");
    await world.patch("versions", { payload: 2 }, "bob");
    const versions = await world.sql`
      select v.version, change::text, v.spec_version, changed_by, payload from carillon.schedule_versions v
      join carillon.schedules s on s.id = v.schedule_id where s.key = 'versions' order by v.version`;
    expect(versions).toEqual([
      { version: 1, change: "created", spec_version: 1, changed_by: "ann", payload: 1 },
      { version: 2, change: "paused", spec_version: 1, changed_by: "ann", payload: null },
      { version: 3, change: "patched", spec_version: 3, changed_by: "bob", payload: 2 },
    ]);
  });

  test("schedules with the same new cron share one cadence, also when many are put at once", async () => {
    await Promise.all(Array.from({ length: 8 }, (_, n) => world.put(`cron-${n}`, { when: "17 3 * * 2" })));
    await world.put("elsewhere", { when: "17 3 * * 2", timezone: "Asia/Tokyo" });
    const made =
      await world.sql`select timezone from carillon.cadences where expression = '17 3 * * 2' order by 1`;
    expect(made).toEqual([{ timezone: "Asia/Tokyo" }, { timezone: "UTC" }]);
  });
});
