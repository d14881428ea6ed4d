import { afterEach, beforeEach, expect, test } from "vitest";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import type { Timing } from "../../lib/clock.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
  for (let n = 1; n <= 60; n++) await world.put(`member:${n}`, { when: "every 1m", tags: ["t"] });
});

afterEach(() => world.stop());

/** The most members in one transaction of a pause that ends before the ticks' horizon. */
async function mostTogether(timing: Timing): Promise<number> {
  const deps = { sql: world.sql, queue: { ...world.queue, timing } };
  const params = { label: { scope: "tag", name: "t" }, caller: { name: "ann" }, until: at(minute) } as const;
  const { done } = await pauseLabel(deps, params, { most: 1_000, timeIsUp: () => false });
  expect(done).toBe(60);
  const rows = await world.sql<{ members: number }[]>`
    select count(*)::int as members from carillon.schedules where held_since is not null group by xmin::text`;
  return Math.max(...rows.map(({ members }) => members));
}

test("A transaction edits 25 members one by one, as their jobs need, and leaves the others to the next one", async () => {
  expect(await mostTogether({ now: () => 0, sleep: async () => {} })).toBe(25);
});

test("A transaction that has held its locks for long edits no further member by itself", async () => {
  let now = 0;
  // Each look at the clock finds the next fifth of a second.
  const slow: Timing = { now: () => (now += 200), sleep: async () => {} };
  expect(await mostTogether(slow)).toBe(1);
});
