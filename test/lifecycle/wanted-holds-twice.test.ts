import { afterEach, beforeEach, expect, test } from "vitest";
import { applyWantedHolds } from "../../lib/edit/wanted-holds.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

test("Carillon's own hold stays unchanged if another job under way asks for a hold too", async () => {
  // Otherwise each such job makes a new version, and overwrites the reason of the hold.
  const apply = () => applyWantedHolds({ sql: world.sql, queue: world.queue, log: world.log }, {});
  world.outcome = async ({ occurrence }) => {
    const isFirst = occurrence.getTime() === at(minute).getTime();
    // The second job runs while the first one has its schedule held.
    if (!isFirst) await apply();
    return { ...failed("410 Gone", true), hold: isFirst ? "the first" : "the second" };
  };
  await world.put("shop", { when: "every 1m", retry: { attempts: 1 } });
  await world.tick();
  await world.clock.setNow(at(minute));
  await world.work();
  await world.clock.setNow(at(2 * minute));
  await world.work();
  await apply();
  expect((await world.jobs("shop")).slice(0, 2)).toMatchObject([{ state: "dead" }, { state: "dead" }]);
  expect(await world.sql`select reason from carillon.holds`).toEqual([{ reason: "the first" }]);
  expect(await world.sql`select version from carillon.schedules`).toEqual([{ version: 2 }]);
  expect(await world.sql`select from carillon.wanted_holds`).toEqual([]);
});
