import { afterEach, expect, test } from "vitest";
import { pauseLabel, resumeLabel } from "../../lib/batch/label-holds.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, minute } from "../support/instants.ts";

let world: Carillon;

afterEach(() => world.stop());

const params = { label: { scope: "tag", name: "t" }, caller: { name: "ann" } } as const;
const unbounded = { most: 1_000, timeIsUp: () => false };

const deps = () => ({ sql: world.sql, queue: world.queue });

/** 60 members, all in shard 1, so that they are changed together. */
async function pausedMembers(when: string): Promise<void> {
  world = await carillon();
  await world.sql`alter table carillon.schedules alter column id set increment by 16`;
  await world.tick();
  for (let n = 0; n < 60; n++) await world.put(`dense:${n}`, { when, tags: ["t"] });
  expect((await pauseLabel(deps(), params, unbounded)).done).toBe(60);
}

/** The most members in one transaction, of those that the last walk has changed. */
async function mostTogether(): Promise<number> {
  const rows = await world.sql<{ members: number }[]>`
    select count(*)::int as members from carillon.schedules group by xmin::text`;
  return Math.max(...rows.map(({ members }) => members));
}

test("A resume after days under a hold counts no missed occurrence as a job", async () => {
  await pausedMembers("every 1m");
  await world.clock.advance(4 * day);
  await world.tick();
  expect((await resumeLabel(deps(), params, unbounded)).done).toBe(60);
  expect(await mostTogether()).toBe(60);
});

test.each([
  // 180 to withdraw, and after two minutes 300 to make.
  { when: "every 1s", most: { paused: 23, resumed: 14 } },
  { when: "every 1m", most: { paused: 60, resumed: 60 } },
])(
  "A pause and a resume of a tag replace at most about 4,000 jobs in a transaction, with members $when",
  async ({ when, most }) => {
    await pausedMembers(when);
    expect(await mostTogether()).toBe(most.paused);
    await world.clock.advance(2 * minute);
    await world.tick();
    expect((await resumeLabel(deps(), params, unbounded)).done).toBe(60);
    expect(await mostTogether()).toBe(most.resumed);
  },
);
