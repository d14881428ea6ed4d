import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { applyWaves } from "../../lib/batch/apply-waves.ts";
import { changeMany } from "../../lib/batch/bulk-change.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { applyBatch } from "../../lib/command/apply-batch.ts";
import type { Tx } from "../../lib/db/connect.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { acceptance } from "../inbox/inbox-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, second } from "../support/instants.ts";
import { watchSearches } from "./searches-under-locks.ts";

/**
 * Schedules of every second have 180 jobs made ahead. An edit withdraws them and makes as many,
 * while no job of any schedule of these shards can start.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const dense = { when: "every 1s", startsAt: at(second).toISOString(), target: { queue: "demo" } };
const moved = { startsAt: at(second + 1).toISOString() };
const keysOf = (count: number) => Array.from({ length: count }, (_, n) => `dense:${n}`);
const puts = (keys: readonly string[]) =>
  keys.map((key): Operation => ({ kind: "put", key, caller, body: parseScheduleBody(dense) }));
const patches = (keys: readonly string[]) =>
  keys.map((key): Operation => ({ kind: "patch", key, caller, patch: moved }));
const commands = (keys: readonly string[]) =>
  keys.map((key) => ({ input: { patch: { key, ...moved } }, caller }));
const deps = () => ({ sql: world.sql, queue: world.queue, log: world.log, acceptance });

const applyWithin = (tx: Tx, operations: readonly Operation[], jobs: number) =>
  applyWaves(tx, operations, { labels: [], labelsMost: 500, teams: new Set(), oneByOne: 0, jobs });

/** Makes the schedules, with the jobs of three minutes. */
async function madeAhead(keys: readonly string[], { sql, queue, tick }: Carillon = world): Promise<void> {
  await tick();
  await applyOperations({ sql, queue }, puts(keys));
}

/** How many schedules each transaction has written last, and in how many shards. */
const written = () => world.sql<{ size: number; shards: number }[]>`
  select count(*)::int as size, count(distinct shard)::int as shards from carillon.schedules group by xmin::text order by 1`;
const sizes = async () => (await written()).map(({ size }) => size);

const jobsOf = ({ sql }: Carillon) => sql`
  select s.key, j.occurrence, j.version, j.state from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
  order by 1, 2`;

test("a batch that replaces many jobs made ahead is done in transactions of at most 4,000 jobs, with the same jobs as each edit alone", async () => {
  const keys = keysOf(30);
  await madeAhead(keys);
  const results = await applyBatch(deps(), commands(keys));
  expect(results.map(({ change }) => change)).toEqual(keys.map(() => "changed"));
  // Each edit withdraws 180 jobs and makes 179.
  expect(await sizes()).toEqual([8, 11, 11]);
  const alone = await carillon();
  await madeAhead(keys, alone);
  for (const key of keys) await alone.patch(key, moved);
  const jobs = await jobsOf(world);
  expect(jobs.length).toBeGreaterThan(30 * 170);
  expect(jobs).toEqual(await jobsOf(alone));
  await alone.stop();
});

test("a batch that is divided because of its jobs edits the schedules of one shard after those of another", async () => {
  const keys = keysOf(40);
  await madeAhead(keys);
  await applyBatch(deps(), commands(keys));
  const shards = (await written()).map((each) => each.shards);
  // Each shard but the first of a transaction may have begun in the one before.
  expect(shards.reduce((sum, count) => sum + count)).toBeLessThan(16 + shards.length);
  expect(shards.length).toBeGreaterThan(3);
});

test("an all-or-nothing batch that would replace more than 15,000 jobs is refused with their number and changes nothing, and half of it is one transaction", async () => {
  const keys = keysOf(60);
  await madeAhead(keys);
  const before = await jobsOf(world);
  await expect(applyBatch(deps(), commands(keys), { allOrNothing: true })).rejects.toMatchObject({
    name: "Refusal",
    kind: "impossible",
    message:
      "These operations withdraw and make about 22,000 jobs of the next minutes. A transaction has at most 15,000. Send fewer operations at once.",
  });
  expect(await jobsOf(world)).toEqual(before);
  expect(await world.sql`select from carillon.schedules where version > 1`).toHaveLength(0);
  await applyBatch(deps(), commands(keys.slice(0, 30)), { allOrNothing: true });
  expect(await sizes()).toEqual([30, 30]);
});

test("a bulk delete of schedules with many jobs made ahead is done in transactions of at most 4,000 jobs", async () => {
  const keys = keysOf(40);
  await madeAhead(keys);
  const done = await changeMany(deps(), { caller, filter: { prefix: "dense:" }, change: { verb: "delete" } });
  expect(done).toMatchObject({ done: 40, failed: 0 });
  expect(Math.max(...(await sizes()))).toBeLessThanOrEqual(22);
  expect(await world.jobs()).toEqual([]);
});

test("counting the jobs of a batch ends at the limit, however many schedules the batch has", async () => {
  const read = readCalendarRules({ dates: ["12-25"] });
  if (!read.ok) throw new Error("The calendar rules could not be read.");
  await putCalendar(deps(), { name: "moving", body: { description: null, rules: read.rules }, caller });
  const calendar = { name: "moving", on: "next" };
  const body = parseScheduleBody({ ...dense, calendar });
  const keys = keysOf(32);
  await world.tick();
  await applyOperations(
    deps(),
    keys.map((key): Operation => ({ kind: "put", key, caller, body })),
  );
  const watched = watchSearches(world.databaseUrl);
  const looksAt = async (count: number) => {
    watched.looksInside();
    const refused = watched.sql.begin((tx) => applyWithin(tx, patches(keys.slice(0, count)), 720));
    await expect(refused).rejects.toMatchObject({ name: "TooManyJobs" });
    return watched.looksInside();
  };
  const few = await looksAt(8);
  expect(few).toBeGreaterThan(0);
  expect(await looksAt(32)).toBeLessThan(2 * few);
  await watched.stop();
});

test("a single schedule fits into a transaction however many jobs it has, and a second one does not", async () => {
  const keys = keysOf(2);
  await madeAhead(keys);
  const apply = (operations: readonly Operation[]) => world.sql.begin((tx) => applyWithin(tx, operations, 1));
  await expect(apply(patches(keys))).rejects.toMatchObject({ name: "TooManyJobs", fit: 1 });
  await apply(patches(keys.slice(0, 1)));
  expect(await world.sql`select from carillon.schedules where version > 1`).toHaveLength(1);
});

test("jobs of new schedules count only in a transaction that edits others, because alone they close no gate", async () => {
  await madeAhead(keysOf(1));
  const made = puts(Array.from({ length: 25 }, (_, n) => `new:${n}`));
  await expect(applyOperations(deps(), [...made, ...patches(keysOf(1))])).rejects.toMatchObject({
    name: "TooManyJobs",
  });
  const applied = await applyOperations(deps(), made);
  expect(applied.every(({ change }) => change === "created")).toBe(true);
});
