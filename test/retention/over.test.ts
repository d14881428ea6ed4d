import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, hour, minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

/** Schedules and ranges that look as if they were over, and are not. */

const retentionDays = 2;

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

async function ticks(count: number, apart: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    await world.tick({ retentionDays });
    await world.work();
    await world.clock.advance(apart);
  }
}

const days = (count: number) => ticks(count * 2, 12 * hour);

const kept = async () => {
  const rows = await world.sql<{ key: string }[]>`select key from carillon.schedules order by key`;
  return rows.map(({ key }) => key);
};

const past = ["at 2026-03-02T10:01", "at 2026-03-02T10:03"];
const future = ["at 2026-03-29T10:00", "at 2026-03-30T10:00"];

test("a schedule is kept while one of its listed times is in the future", async () => {
  await world.put("listed", { when: [...past, ...future] });
  await world.put("over", { when: past });
  await ticks(5, minute);
  await days(8);
  // If it were purged, it would never fire again, and its key would be free for another.
  expect(await kept()).toEqual(["listed"]);
});

test("a schedule that was over is kept when an edit gives it new times", async () => {
  await world.put("again", { when: past });
  await ticks(5, minute);
  // The purge has recorded that it is over.
  await days(2);
  expect(await world.sql`select from carillon.over_schedules`).toHaveLength(1);
  await world.patch("again", { when: future });
  await days(8);
  expect(await kept()).toEqual(["again"]);
  await world.clock.setNow("2026-03-30T10:00:00Z");
  await ticks(2, minute);
  expect((await world.jobs("again")).at(-1)).toMatchObject({ occurrence: new Date("2026-03-30T10:00:00Z") });
});

test("a schedule keeps its tags when a deleted one of the same key is purged", async () => {
  await world.put("reused", { when: "every 1d", tags: ["orders"] });
  await world.remove("reused");
  await world.put("reused", { when: "every 1d", tags: ["orders"] });
  await days(8);
  expect(await kept()).toEqual(["reused"]);
  // Without its tag, a pause of the tag would not apply to it.
  expect(await world.sql`select key, tag from carillon.schedule_tags`).toEqual([
    { key: "reused", tag: "orders" },
  ]);
});

test("a range that was passed over is kept for the retention from when it was recorded, however old it was by then", async () => {
  await world.put("hourly", { when: "every 1h", catchUp: { policy: "all", limit: 100 } });
  await world.clock.advance(10 * day);
  await ticks(2, minute);
  const ranges = await world.sql<{ to: Date }[]>`select to_at as "to" from carillon.passed_over`;
  // Otherwise explain would have no answer minutes after an outage of ten days.
  expect(ranges).toHaveLength(1);
  expect(ranges[0]?.to.getTime()).toBeLessThan(Date.parse("2026-03-09T00:00:00Z"));
  await days(6);
  expect(await world.sql`select from carillon.passed_over`).toEqual([]);
});
