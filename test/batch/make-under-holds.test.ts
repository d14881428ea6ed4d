import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { TooMuchAtOnce } from "../../lib/batch/apply-wave.ts";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import type { Label } from "../../lib/schedule/shared-holds.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute } from "../support/instants.ts";
import { type Counting, countStatements } from "./counted-statements.ts";

/** New schedules of a batch under a held label cost the same as under no hold. */

let world: Carillon;
let counting: Counting;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
  counting = countStatements(world.databaseUrl);
});

afterEach(async () => {
  await counting.sql.end();
  await world.stop();
});

const caller = { name: "ann" };
const unbounded = { most: 1_000_000, timeIsUp: () => false };
const shop: Label = { scope: "group", name: "shop" };
const nightly: Label = { scope: "tag", name: "nightly" };

const pause = (label: Label, params: { until?: Date; owner?: string } = {}) =>
  pauseLabel({ sql: world.sql, queue: world.queue }, { label, caller, ...params }, unbounded);
const makeEach = (prefix: string, count: number, body: object) =>
  applyOperations(
    { sql: counting.sql, queue: world.queue },
    Array.from(
      { length: count },
      (_, n): Operation => ({
        kind: "put",
        key: `${prefix}:${n}`,
        caller,
        body: parseScheduleBody({ when: "every 1m", target: { queue: "demo" }, ...body }),
      }),
    ),
  );
const holdsUnder = async (prefix: string) =>
  (
    await world.sql`
      select h.scope, h.name, h.owner from carillon.holds h join carillon.schedules s on s.id = h.schedule_id
      where starts_with(s.key, ${`${prefix}:`}) order by s.key, h.scope, h.owner`
  ).length;

describe.each([
  ["group", shop, { group: "shop" }, {}],
  ["tag", nightly, { tags: ["nightly"] }, {}],
  ["group whose hold ends", shop, { group: "shop" }, { until: at(2 * hour) }],
])("a batch of n new schedules under a held %s", (_what, label, belonging, params) => {
  test("a batch of n new schedules under a hold writes n holds, by the same number of statements for 400 schedules as for 50", async () => {
    await pause(label, params);
    const statements: number[] = [];
    for (const count of [50, 100, 200, 400]) {
      // The first statements of a connection prepare those that follow.
      counting.taken();
      const applied = await makeEach(`of-${count}`, count, belonging);
      statements.push(counting.taken().length);
      expect(applied.filter(({ change }) => change === "created")).toHaveLength(count);
      expect(await holdsUnder(`of-${count}`)).toBe(count);
    }
    expect(new Set(statements).size, statements.join(", ")).toBe(1);
  });
});

test("new schedules of a batch get every hold of all their labels, and their own `paused`", async () => {
  await pause(shop);
  await pause(shop, { owner: "bob" });
  await pause(nightly);
  await makeEach("of-all", 3, { group: "shop", tags: ["nightly", "weekly"], paused: true });
  expect(await holdsUnder("of-all")).toBe(3 * 4);
});

test("a batch under a hold with an end plans occurrences due under it for its end, and later ones for their own time", async () => {
  await pause(shop, { until: at(2 * hour) });
  await makeEach("hourly", 2, { group: "shop", when: "30 * * * *" });
  await makeEach("once", 2, { group: "shop", when: "in 1h" });
  await makeEach("later", 2, { group: "shop", when: "in 3h" });
  const planned = await world.sql<{ name: string; occurrence: Date; due: Date; governed: boolean | null }[]>`
    select split_part(s.key, ':', 1) as name, p.occurrence, p.due_at as due, p.governed
    from (select schedule_id, occurrence, due_at, governed from carillon.plan
      union all select schedule_id, occurrence, due_at, governed from carillon.plan_far) p
    join carillon.schedules s on s.id = p.schedule_id where s.key ~ ':1$' order by name, due`;
  const half = 30 * minute;
  expect(planned.map(({ name, occurrence, due, governed }) => [name, occurrence, due, governed])).toEqual([
    ["hourly", at(half), at(2 * hour), true],
    ["hourly", at(2 * hour + half), at(2 * hour + half), null],
    ["later", at(3 * hour), at(3 * hour), null],
    ["once", at(hour), at(2 * hour), true],
  ]);
});

test("a transaction makes at most 25 schedules whose hold ends before the watermark", async () => {
  await pause(shop, { until: at(2 * minute) });
  await expect(makeEach("short", 40, { group: "shop" })).rejects.toThrow(TooMuchAtOnce);
  expect(await world.sql`select from carillon.schedules`).toEqual([]);
  await makeEach("short", 20, { group: "shop" });
  const waiting = await world.sql`select from carillon.jobs where ready_at >= ${at(2 * minute)}`;
  expect(waiting.length).toBeGreaterThanOrEqual(20);
});
