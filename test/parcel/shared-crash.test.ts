import { afterEach, beforeEach, expect, test } from "vitest";
import { claimCompany } from "../../lib/parcel/claim-together.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { due, dueOnce, lease, swept, workerOf } from "./limit-world.ts";

/** A worker that takes parcels of one job along dies: which of the jobs stopped it is unknown. */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await dueOnce(world, "a", 3, { target: { handler: "a" }, retry: { attempts: 1 } });
  await world.sql`update carillon.schedules set shard = substring(key from 3)::int`;
  await world.sql`update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
  await world.tick();
  await world.clock.setNow(due);
  await world.sql`
    update carillon.parcels set turn = 'waits', turn_at = ${due}::timestamptz + shard * interval '1 ms' - interval '1 s', ready_at = 'infinity',
      offer_at = 'infinity'`;
  await world.sql`update carillon.targets set share = 1, cost_ms = 1`;
  world.queue.take("slow");
});

afterEach(() => world.stop());

const jobs = async () =>
  (await world.jobs()).map(({ key, state, attempt, error }) => ({ key, state, attempt, error }));

/** The first parcel is claimed, takes the others along, and its worker dies. */
async function crash(): Promise<number> {
  const [first = ""] = await swept(world);
  const head = await workerOf(world, 1).claimed(first);
  const { length } = head.company > 0 ? await claimCompany(world.sql, head, lease) : [];
  world.queue.take("slow");
  await world.clock.advance(minute);
  return length;
}

test("jobs that were worked together are charged no attempt when their worker dies, and are worked alone then", async () => {
  expect(await crash()).toBe(2);
  await swept(world);
  const uncharged = { state: "waiting", attempt: 0, error: null };
  expect(await jobs()).toEqual(["a-000", "a-001", "a-002"].map((key) => ({ key, ...uncharged })));
  expect(await world.sql`select distinct alone, company from carillon.parcels`).toEqual([
    { alone: true, company: null },
  ]);
});

test("a job whose worker dies while it is worked alone is charged an attempt", async () => {
  await crash();
  const [next = ""] = await swept(world);
  await workerOf(world, 1).claimed(next);
  world.queue.take("slow");
  await world.clock.advance(minute);
  await swept(world);
  const charged = (await jobs()).filter(({ attempt }) => attempt > 0);
  expect(charged).toEqual([
    expect.objectContaining({
      state: "dead",
      error: "The worker stopped without an answer: its lease ended.",
    }),
  ]);
});

test("a lease whose fence is the largest number ends as any other does", async () => {
  await world.sql`update carillon.schedules set shard = 0`;
  await world.sql`update carillon.schedule_versions set body = body || '{"retry": {"attempts": 2}}'`;
  await crash();
  const [next = ""] = await swept(world);
  await workerOf(world, 1).claimed(next);
  await world.sql`update carillon.parcels set fence = 2147483647 where lease_until is not null`;
  world.queue.take("slow");
  await world.clock.advance(minute);
  await swept(world);
  expect(await world.sql`select from carillon.quarantine`).toEqual([]);
  expect((await jobs()).filter(({ attempt }) => attempt > 0)).toMatchObject([
    { state: "waiting", attempt: 1 },
  ]);
});
