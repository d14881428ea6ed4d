import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at } from "../support/instants.ts";

let world: Carillon;
beforeEach(async () => {
  world = await carillon();
  await world.tick();
});
afterEach(() => world.stop());
test("An edit of a schedule whose hold has ended, while ticks lag, notes passed-over occurrences once", async () => {
  await world.put("k", { when: "every 1m", catchUp: { policy: "skip" } });
  await world.pause("k", { until: at("10:31:00") });
  await world.clock.setNow(at("11:00:00"));
  await world.patch("k", { payload: { a: 1 } });
  const ranges =
    await world.sql`select from_at, to_at, count::int, reason from carillon.passed_over order by noted_at, from_at`;
  expect(ranges.reduce((sum, r) => sum + r["count"], 0)).toBeLessThanOrEqual(60);
});

test("An edit of a schedule whose hold has ended, while ticks lag, puts each occurrence into the backlog once", async () => {
  await world.put("k", { when: "every 1m", catchUp: { policy: "all", limit: 1000 } });
  await world.pause("k", { until: at("10:31:00") });
  await world.clock.setNow(at("11:00:00"));
  await world.patch("k", { payload: { a: 1 } });
  const owed = (await world.sql`select unnest(occurrences) o from carillon.backlog`).map((r) =>
    r["o"].toISOString(),
  );
  expect(new Set(owed).size).toBe(owed.length);
});

test("A slot that would collect thousands of occurrences is refused, also if few of them are still to come now", async () => {
  await world.clock.setNow(at("23:59:30"));
  const put = world.put("k", { when: "* * * * * 1", slot: "24h" }).then(
    () => "accepted",
    () => "refused",
  );
  expect(await put).toBe("refused");
});
