import { afterEach, beforeEach, expect, test } from "vitest";
import { changeMany } from "../../lib/batch/bulk-change.ts";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import type { Timing } from "../../lib/clock.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";

/**
 * Schedules that are paused until soon are edited one by one: the ticks have made jobs up to then.
 */

let world: Carillon;
const caller = { name: "ann" };
const until = at(minute);
const keys = Array.from({ length: 60 }, (_, n) => `member:${n}`);

beforeEach(async () => {
  world = await carillon();
  await world.tick();
  for (const key of keys) await world.put(key, { when: "every 1m", tags: ["t"] });
});

afterEach(() => world.stop());

const still: Timing = { now: () => 0, sleep: async () => {} };

/**
 * Each look at the clock finds it 20 ms later. Each edit looks at it a few times, and the time for computing
 * occurrences is enough for 25 of them.
 */
function slow(): Timing {
  let now = 0;
  return { now: () => (now += 20), sleep: async () => {} };
}

const deps = (timing: Timing) => ({ sql: world.sql, queue: { ...world.queue, timing }, log: world.log });

async function pauseTag(timing: Timing): Promise<void> {
  const params = { label: { scope: "tag", name: "t" }, caller, until } as const;
  const { done } = await pauseLabel(deps(timing), params, { most: 1_000, timeIsUp: () => false });
  expect(done).toBe(keys.length);
}

async function pauseByFilter(timing: Timing): Promise<void> {
  const change = { verb: "pause", until } as const;
  const { failed } = await changeMany(deps(timing), { filter: { keys }, change, caller });
  expect(failed).toBe(0);
}

/** The most schedules that one transaction has held. */
async function mostTogether(): Promise<number> {
  const rows = await world.sql<{ held: number }[]>`
    select count(*)::int as held from carillon.schedules where held_since is not null group by xmin::text`;
  return Math.max(...rows.map(({ held }) => held));
}

const ways = [
  { way: "A pause of a tag", pause: pauseTag },
  { way: "A pause by filter", pause: pauseByFilter },
];

test.each(ways)("$way edits 25 schedules one by one in a transaction", async ({ pause }) => {
  await pause(still);
  expect(await mostTogether()).toBe(25);
});

test.each(ways)(
  "$way edits no further schedule in a transaction that has held its locks for long",
  async ({ pause }) => {
    await pause(slow());
    expect(await mostTogether()).toBeLessThan(12);
  },
);
