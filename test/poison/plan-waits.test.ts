import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { closeGate } from "../../lib/db/locks.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { planSteps, unknownZone } from "./plan-steps.ts";
import { impatientTick } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(async () => {
  await world.stop();
});

const { together, inQuarantine, occurrencesOf, zoneOf, refuseJobsOf, ticks } = planSteps(() => world);

test.each([
  ["without a calendar", {}],
  ["with a calendar", { calendar: { name: "c", on: "next" } }],
])(
  "A schedule (%s) that cannot be read is patched with others, and continues in its new zone",
  async (_, by) => {
    const deps = { sql: world.sql, queue: world.queue };
    const rules = { dates: [], weekly: ["sat"], except: [] } as const;
    await putCalendar(deps, { name: "c", body: { description: null, rules }, caller: { name: "ann" } });
    await world.put("bad", { when: "*/5 * * * *", timezone: "Asia/Tokyo", ...by });
    await world.put("good", { when: "*/5 * * * *" });
    await zoneOf("Asia/Tokyo", unknownZone);
    await ticks(3);
    const patches = ["bad", "good"].map((key) => ({
      kind: "patch" as const,
      key,
      patch: { payload: "new" },
      caller: { name: "ann" },
    }));
    expect(await applyOperations(deps, patches)).toMatchObject([
      { change: "changed" },
      { change: "changed" },
    ]);
    await zoneOf(unknownZone, "Asia/Tokyo");
    await ticks(12);
    expect(await inQuarantine()).toEqual([]);
    expect(await world.sql`select distinct timezone from carillon.cadences`).toHaveLength(2);
    expect((await occurrencesOf("bad")).length).toBeGreaterThan(1);
    expect((await readSchedule(world.sql, "bad"))?.body).toMatchObject({
      payload: "new",
      timezone: "Asia/Tokyo",
    });
  },
);

test("A schedule in quarantine is deleted although it still cannot be planned", async () => {
  await world.put("bad", { when: "*/2 * * * *" });
  await refuseJobsOf("bad");
  await ticks(5);
  expect(await inQuarantine()).toMatchObject([{ key: "bad" }]);
  await world.remove("bad");
  expect(await readSchedule(world.sql, "bad")).toBeNull();
  expect(await inQuarantine()).toEqual([]);
});

test("A locked shard does not postpone the retries of its schedules in quarantine", async () => {
  for (const key of ["one", "two"]) await world.put(key, { when: "*/5 * * * *", timezone: "Asia/Tokyo" });
  await together();
  await zoneOf("Asia/Tokyo", unknownZone);
  await ticks(3);
  await zoneOf(unknownZone, "Asia/Tokyo");
  const before = await inQuarantine();
  expect(before).toMatchObject([{ key: "one" }, { key: "two" }]);
  await world.clock.advance(10 * minute);
  await impatientTick(world);
  await world.sql.begin(async (tx) => {
    await closeGate(tx, 3);
    await expect(world.tick()).rejects.toThrow("lock timeout");
    expect(await inQuarantine()).toEqual(before);
  });
  await world.tick();
  expect(await inQuarantine()).toEqual([]);
});
