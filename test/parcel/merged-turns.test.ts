import { afterEach, beforeEach, expect, test } from "vitest";
import { setLimits } from "../../lib/limit/limits.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { attemptsOf, dueOnce, ids, parcels, workerOf } from "./limit-world.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

/** A shard that no other parcel belongs to. */
const apart = 9;

/**
 * Makes this number of parcels of one job, each due a second after the one before: the first in a
 * shard apart, the others spread over this number of shards.
 */
async function smallParcels(count: number, shards: number): Promise<string[]> {
  for (let n = 0; n < count; n++)
    await dueOnce(world, `p${n}`, 1, { target: { handler: "a" } }, at(minute + n * second));
  await world.sql`update carillon.schedules set shard = case key when 'p0-000' then ${apart}::int else id % ${shards}::int end`;
  await world.sql`update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
  await world.tick();
  world.queue.messages = [];
  await world.clock.setNow(at(minute + count * second));
  const rows = await world.sql<{ id: string }[]>`
    select id from carillon.parcels order by (shard = ${apart}) desc, ready_at, id`;
  return rows.map(({ id }) => id);
}

const keysOf = (jobs: readonly { key: string }[]) => jobs.map(({ key }) => key).sort();

test("small parcels that wait for one target become one when their turn comes, and each job is delivered once", async () => {
  const [one = "", ...others] = await smallParcels(8, 1);
  const { claim, claimed, settle } = workerOf(world, 1);
  const first = await claimed(one);
  for (const id of others) expect(await claim(id)).toMatchObject({ outcome: "held" });
  const [next = "", ...more] = await settle(first);
  expect(more).toEqual([]);
  const second_ = await claimed(next);
  expect(keysOf(second_.jobs)).toEqual(Array.from({ length: 7 }, (_, n) => `p${n + 1}-000`));
  expect(second_.slots).toBe(7);
  expect(await settle(second_)).toEqual([]);
  expect(await parcels(world)).toEqual([]);
  expect(await attemptsOf(world)).toEqual([{ attempt: 1 }]);
  for (const id of others) expect(await claim(id)).toMatchObject({ outcome: "gone" });
});

test("small parcels are merged up to the limit of jobs, and within one shard", async () => {
  const [one = "", ...others] = await smallParcels(26, 2);
  const { claim, claimed, settle } = workerOf(world, 1);
  let next = await claimed(one);
  for (const id of others) await claim(id);
  const sizes: number[] = [];
  for (let [id] = await settle(next); id !== undefined; [id] = await settle(next)) {
    next = await claimed(id);
    sizes.push(next.jobs.length);
  }
  expect(sizes.toSorted((a, b) => a - b)).toEqual([2, 3, 10, 10]);
});

test("small parcels are not merged while an edit holds the gate of their shard", async () => {
  const [one = "", ...others] = await smallParcels(4, 1);
  const { claim, claimed, settle } = workerOf(world, 1);
  const first = await claimed(one);
  for (const id of others) await claim(id);
  const closed = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const editing = world.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(2, 0)`;
    closed.resolve();
    await over.promise;
  });
  await closed.promise;
  const [next = ""] = await settle(first);
  over.resolve();
  await editing;
  expect((await claimed(next)).jobs).toHaveLength(1);
});

test("small parcels are not merged at a target with a limit of jobs at once", async () => {
  const [one = "", ...others] = await smallParcels(4, 1);
  const limits = { concurrency: 1, rate: null };
  await setLimits(world, { target: "handler/a", limits, caller: { name: "ann" } });
  const { claim, claimed, settle } = workerOf(world, 5);
  const first = await claimed(one);
  for (const id of others) await claim(id);
  const [next = ""] = await settle(first);
  expect((await claimed(next)).jobs).toHaveLength(1);
});

test("a job that an edit has moved from one parcel to another is not in the merged parcel twice", async () => {
  const [one = "", ...others] = await smallParcels(4, 1);
  const { claim, claimed, settle } = workerOf(world, 1);
  const first = await claimed(one);
  for (const id of others) await claim(id);
  const [two = "", three = ""] = others.slice(1);
  // Parcel `two` still lists the job that parcel `three` has now.
  await world.sql`
    update carillon.parcels p set occurrences = p.occurrences || o.occurrences, schedule_ids = p.schedule_ids || o.schedule_ids
    from carillon.parcels o where p.id = ${two} and o.id = ${three}`;
  const [next = ""] = await settle(first);
  const merged = await claimed(next);
  expect(keysOf(merged.jobs)).toEqual(["p1-000", "p2-000", "p3-000"]);
  const [row] =
    await world.sql`select cardinality(occurrences) as listed from carillon.parcels where id = ${next}`;
  expect(row).toEqual({ listed: 3 });
});

test("an unclaimed parcel is merged into the first that is claimed, and its own message finds nothing", async () => {
  const [, one = "", ...others] = await smallParcels(8, 1);
  const { claim, claimed, settle } = workerOf(world, 5);
  const first = await claimed(one);
  expect(keysOf(first.jobs)).toEqual(Array.from({ length: 7 }, (_, n) => `p${n + 1}-000`));
  expect(first.slots).toBe(7);
  for (const id of others) expect(await claim(id)).toMatchObject({ outcome: "gone" });
  await settle(first);
  const [row] = await world.sql`select count(*)::int as done from carillon.jobs where state = 'succeeded'`;
  expect(row).toEqual({ done: 7 });
});

test("a parcel that is not ready, or that another worker has, is not merged", async () => {
  const [, one = "", two = "", three = "", ...later] = await smallParcels(8, 1);
  await world.clock.setNow(at(minute + 3 * second));
  const { claim, claimed } = workerOf(world, 5);
  await world.sql`
    update carillon.parcels set claimed_at = ${world.clock.now()}, lease_until = ${at(minute + 60 * second)} where id = ${two}`;
  expect(keysOf((await claimed(one)).jobs)).toEqual(["p1-000", "p3-000"]);
  expect(await claim(three)).toMatchObject({ outcome: "gone" });
  expect(await claim(two)).toMatchObject({ outcome: "leased" });
  for (const id of later) expect(await claim(id)).toMatchObject({ outcome: "early" });
});

test("parcels that are more than half full are not merged", async () => {
  for (const [n, prefix] of ["a", "b"].entries())
    await dueOnce(world, prefix, 6, { target: { handler: "a" } }, at(minute + n * second));
  await world.sql`update carillon.schedules set shard = 0`;
  await world.sql`update carillon.plan set shard = 0`;
  await world.sql`update carillon.targets set cost_ms = 60000`;
  await world.tick();
  await world.clock.setNow(at(minute + second));
  const { claimed } = workerOf(world, 5);
  for (const id of await ids(world)) expect((await claimed(id)).jobs).toHaveLength(6);
});
