import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { TestCarillon } from "../../lib/tools/testing/test-carillon.ts";
import { testDatabase } from "../support/database.ts";
import { kit } from "./kit.ts";

const shop = { event: { source: "shop", detailType: "order.due" } };

test("Without eventSources a schedule with the source of another sender is refused", async () => {
  await using carillon = await kit();
  await expect(carillon.put("order", { when: "in 5m", target: shop })).rejects.toMatchObject({ status: 422 });
});

test("An event of a source in eventSources is delivered with it", async () => {
  await using carillon = await kit({ eventSources: "carillon, shop" });
  await carillon.put("order", { when: "in 5m", target: shop });
  await carillon.advance("10m");
  expect(carillon.deliveries()).toMatchObject([{ to: "event", source: "shop", detailType: "order.due" }]);
});

test.each([
  ["of a source that is no longer allowed", { source: "billing", detailType: "due" }, "target.event.source"],
  [
    "with a reserved type from before the rule",
    { source: "carillon", detailType: "carillon.job.dead" },
    "target.event.detailType",
  ],
])(
  "A worker sends no event %s: the job is dead at once, and the pulse is given up",
  async (_, stored, path) => {
    const database = await testDatabase("still");
    const sql = connect({ DATABASE_URL: database.socketUrl }, { max: 1 });
    onTestFinished(() => sql.end());
    const place = { url: database.socketUrl, giveBack: () => database.drop() };
    await using carillon = await TestCarillon.over(place, { eventSources: "shop" });
    await carillon.put("order", { when: "in 1h", target: shop });
    await carillon.put("beat", { when: "every 30m", target: shop, delivery: "pulse" });
    const target = JSON.stringify({ event: { bus: "default", ...stored } });
    await sql`update carillon.schedule_versions set target = ${target}::text::jsonb`;
    await sql`update carillon.pulse_targets set target = ${target}::text::jsonb`;
    await carillon.advance("65m");
    expect(carillon.jobs("order")).toMatchObject([
      { state: "dead", reason: "gave-up", attempts: 1, error: expect.stringContaining(`${path} `) },
    ]);
    expect(carillon.deliveries()).toEqual([]);
    expect(
      await sql`select reason, sum(count)::int as count from carillon.pulses_passed group by reason`,
    ).toEqual([{ reason: "refused", count: 2 }]);
    // Carillon's own event about the dead job is still published.
    expect(carillon.notices()).toMatchObject([{ detailType: "carillon.job.dead" }]);
  },
);
