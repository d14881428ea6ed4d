import { afterEach, beforeEach, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { gate } from "../../lib/db/locks.ts";
import { cancelJob } from "../../lib/edit/cancel-jobs.ts";
import { type JobKey, jobId } from "../../lib/job/job-id.ts";
import type { ClaimedParcel } from "../../lib/parcel/claim.ts";
import { claimCompany } from "../../lib/parcel/claim-together.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";
import {
  claimedBeforeOthers,
  due,
  dueOnce,
  lease,
  parcels,
  settleAlone,
  swept,
  workerOf,
} from "./limit-world.ts";

/**
 * A worker with a place at a target with quick jobs claims other parcels that wait there together
 * with its own.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(async () => {
  await world.stop();
});

const companyOf = (head: ClaimedParcel) => claimCompany(world.sql, head, lease);
const settleTogether = (all: readonly ClaimedParcel[]) => world.sql`
  select from carillon.settle_parcels(${all.map(({ id }) => id)}::bigint[], ${all.map(({ fence }) => fence)}::int[], '{}')`;
const sizes = (claimed: readonly ClaimedParcel[]) => claimed.map(({ jobs }) => jobs.length);

test.each([
  { name: "at most half a second of work", count: 6, costMs: 125, share: 1, takes: [10, 10, 10] },
  { name: "at most its part of the waiting parcels", count: 12, costMs: 1, share: 4, takes: [10, 10] },
  { name: "none if fewer parcels wait than have a place", count: 3, costMs: 1, share: 4, takes: [] },
  { name: "none if a parcel takes half a second by itself", count: 6, costMs: 500, share: 1, takes: [] },
])("a worker takes along $name", async ({ count, costMs, share, takes }) => {
  const head = await claimedBeforeOthers(world, count, { costMs, share });
  expect(head.company > 0).toBe(takes.length > 0);
  expect(sizes(await companyOf(head))).toEqual(takes);
});

test.each([
  { name: "the cost of the target's jobs is unknown", change: { cost_ms: null } },
  { name: "the target limits jobs that run at once", change: { concurrency: 5 } },
  { name: "the target limits starts per second", change: { rate_count: 100, rate_ms: 1_000 } },
])("a worker takes no parcel along if $name", async ({ change }) => {
  const head = await claimedBeforeOthers(world, 4);
  expect(head.company).toBe(3);
  await world.sql`update carillon.targets set ${world.sql(change)}`;
  expect(await companyOf(head)).toEqual([]);
  const outgoing = await settleAlone(world, head);
  const next = await workerOf(world, 1).claim(outgoing[0] ?? "");
  if (next.outcome === "claimed") expect(next.company).toBe(0);
});

test("parcels that a worker takes along come in their order, are leased, and use no place of the target", async () => {
  const head = await claimedBeforeOthers(world, 12);
  const waited = (await parcels(world)).filter(({ turn }) => turn === "waits").map(({ id }) => id);
  const company = await companyOf(head);
  expect(company.map(({ id }) => id)).toEqual(waited.slice(0, 9));
  const fences = await world.sql<{ id: string; fence: number }[]>`select id, fence from carillon.parcels`;
  for (const { id, fence } of company) expect(fences).toContainEqual({ id, fence });
  expect((await parcels(world)).map(({ turn, slots, leased: had }) => [turn, slots, had])).toEqual([
    ...Array(1).fill([null, 10, true]),
    ...Array(9).fill([null, null, true]),
    ...Array(2).fill(["waits", null, false]),
  ]);
});

/** Resets the parcels that wait at the target to the state before their messages came. */
async function withoutMessages(): Promise<void> {
  await world.sql`
    update carillon.parcels set turn = null, turn_at = null, ready_at = ${due}, offer_at = ${due} where turn = 'waits'`;
}

test("a worker takes parcels along whose messages have not come yet, and those messages then find nothing to do", async () => {
  const head = await claimedBeforeOthers(world, 12);
  await withoutMessages();
  const company = await companyOf(head);
  expect(sizes(company)).toEqual(Array(9).fill(10));
  for (const { id } of company)
    expect(await workerOf(world, 1).claim(id)).toMatchObject({ outcome: "leased", freed: [] });
  await settleTogether([head, ...company]);
  for (const { id } of company)
    expect(await workerOf(world, 1).claim(id)).toMatchObject({ outcome: "gone", freed: [] });
  expect(await parcels(world)).toHaveLength(2);
});

test("a claim counts the parcels that wait for a turn and those whose messages have not come", async () => {
  const first = await claimedBeforeOthers(world, 6);
  await world.sql`
    update carillon.parcels set turn = null, turn_at = null, ready_at = ${due} where id in (
      select id from carillon.parcels where turn = 'waits' order by id limit 2)`;
  const outgoing = await settleAlone(world, first);
  expect((await workerOf(world, 1).claimed(outgoing[0] ?? "")).company).toBe(4);
});

test("a worker takes parcels that wait for a turn before those whose messages have not come", async () => {
  const head = await claimedBeforeOthers(world, 12);
  const waits = (await parcels(world)).filter(({ turn }) => turn === "waits").map(({ id }) => id);
  const before = waits.slice(-4);
  await world.sql`
    update carillon.parcels set turn = null, turn_at = null, ready_at = ${due} where turn = 'waits' and id <> all (${before}::bigint[])`;
  const company = (await companyOf({ ...head, company: 5 })).map(({ id }) => id);
  expect(company).toHaveLength(5);
  expect(company).toEqual(expect.arrayContaining(before));
});

test.each([
  { name: "is not ready yet", change: { ready_at: at(minute + 1) } },
  { name: "is leased by another worker", change: { lease_until: at(2 * minute), claimed_at: due } },
  { name: "is held", change: { held_schedule: 1 } },
  { name: "must be worked alone", change: { alone: true } },
])("a worker takes no parcel along that $name and whose message has not come", async ({ change }) => {
  const head = await claimedBeforeOthers(world, 4);
  await withoutMessages();
  await world.sql`update carillon.parcels set ${world.sql(change)} where id <> ${head.id}`;
  expect(await companyOf(head)).toEqual([]);
});

test.each([
  { name: "is held", change: { held_schedule: 1 } },
  { name: "holds the job of a dead worker, which could kill this one too", change: { alone: true } },
  { name: "comes from the backlog", change: { owed: true } },
])("a worker takes no parcel along that has its turn at the target and $name", async ({ change }) => {
  const head = await claimedBeforeOthers(world, 4);
  await world.sql`update carillon.parcels set ${world.sql(change)} where id <> ${head.id}`;
  expect(await companyOf(head)).toEqual([]);
});

test("a claim recognizes a leased parcel without waiting for an edit in its shard", async () => {
  const head = await claimedBeforeOthers(world, 1);
  const own = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  await own.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${gate}::int, shard) from carillon.parcels where id = ${head.id}`;
    expect(await workerOf(world, 1).claim(head.id)).toMatchObject({ outcome: "leased" });
  });
  await own.end();
});

test("a parcel with a held job keeps waiting, and the other parcels are taken along", async () => {
  const head = await claimedBeforeOthers(world, 4);
  await world.sql`update carillon.schedules set held_since = carillon.clock(), held_until = 'infinity' where key = 'a-015'`;
  expect(sizes(await companyOf(head))).toEqual([10, 10]);
  expect((await parcels(world)).filter(({ turn }) => turn === "waits")).toHaveLength(1);
  const outgoing = await settleAlone(world, head);
  const own = await workerOf(world, 1).claimed(outgoing[0] ?? "");
  expect(own.jobs).toHaveLength(9);
});

test("a worker takes no parcel along if its row or its shard's gate is locked", async () => {
  const head = await claimedBeforeOthers(world, 4);
  const own = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  await own.begin(async (tx) => {
    await tx`select from carillon.parcels where shard = 1 for update`;
    await tx`select pg_advisory_xact_lock(${gate}::int, 2)`;
    expect(sizes(await companyOf(head))).toEqual([10]);
  });
  await own.end();
});

test.each([1, 100])(
  "a settle gives no turn to a parcel that another worker is taking along, if a job takes %i ms",
  async (costMs) => {
    const head = await claimedBeforeOthers(world, 12, { costMs, share: 2 });
    const [other = ""] = (await parcels(world)).filter(({ turn }) => turn === "granted").map(({ id }) => id);
    const neighbour = await workerOf(world, 2).claimed(other);
    const own = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
    await own.begin(async (tx) => {
      const taken = await tx<{ parcel: string }[]>`
      select parcel from carillon.claim_company(${head.id}, ${head.fence}, 4, ${lease}) where occurrence is null`;
      expect(taken).toHaveLength(4);
      const outgoing = await settleAlone(world, neighbour);
      expect(outgoing).toHaveLength(1);
      expect(taken.map(({ parcel }) => parcel)).not.toContain(outgoing[0]);
    });
    await own.end();
    expect((await parcels(world)).filter((parcel) => parcel.leased)).toHaveLength(1 + 4);
  },
);

test("a worker whose lease is over takes no parcels along", async () => {
  const head = await claimedBeforeOthers(world, 4);
  await world.clock.setNow(at(3 * minute));
  expect(await companyOf(head)).toEqual([]);
});

test("a worker whose parcel another worker has claimed since takes no parcels along, although that lease is live", async () => {
  const head = await claimedBeforeOthers(world, 4);
  expect(await companyOf({ ...head, fence: head.fence - 1 })).toEqual([]);
  expect(sizes(await companyOf(head))).toEqual([10, 10, 10]);
});

test("the time of parcels that are settled together counts once for each of their target's places, not for each parcel", async () => {
  const head = await claimedBeforeOthers(world, 5);
  const company = await companyOf(head);
  await world.clock.advance(100);
  await settleTogether([head, ...company]);
  expect(await world.sql`select jobs, ms from carillon.target_work`).toEqual([{ jobs: 50, ms: 1_000 }]);
});

test("the time of parcels that are settled together counts for each place that they had, also if each parcel is one job", async () => {
  await dueOnce(world, "a", 10);
  await world.sql`update carillon.schedules set shard = substring(key from 3)::int`;
  await world.sql`update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
  await world.tick();
  await world.clock.setNow(due);
  await world.sql`update carillon.parcels set turn = 'waits', turn_at = ${due}, ready_at = 'infinity', offer_at = 'infinity'`;
  await world.sql`update carillon.targets set share = 1, cost_ms = 100`;
  const [first = ""] = await swept(world);
  const head = await workerOf(world, 1).claimed(first);
  const company = await companyOf(head);
  await world.clock.advance(100);
  await settleTogether([head, ...company]);
  expect(await world.sql`select jobs, ms from carillon.target_work`).toEqual([{ jobs: 10, ms: 1_000 }]);
});

test("a parcel of a company that is settled alone after a failed job counts only its part of the time", async () => {
  const head = await claimedBeforeOthers(world, 10, { costMs: 10 });
  const all = [head, ...(await companyOf(head))];
  await world.clock.advance(100);
  for (const parcel of all) await workerOf(world).settle(parcel, { kind: "dead", error: "not today" });
  expect(
    await world.sql`select sum(jobs)::int as jobs, sum(ms)::int as ms from carillon.target_work`,
  ).toEqual([{ jobs: 100, ms: 1_000 }]);
});

test("a claim that grants its own parcel a turn sends that parcel a message again", async () => {
  await claimedBeforeOthers(world, 3);
  const fresh = (await parcels(world)).filter(({ turn }) => turn === "waits").at(-1)?.id ?? "";
  await world.sql`update carillon.parcels set turn = null, ready_at = ${due}, offer_at = ${due} where id = ${fresh}`;
  const claimed = await workerOf(world, 4).claim(fresh);
  expect(claimed).toMatchObject({ outcome: "held", insteadId: fresh });
  expect(claimed.freed.map(({ id }) => id)).toContain(fresh);
  expect(await workerOf(world, 4).claim(fresh)).toMatchObject({ outcome: "claimed", id: fresh });
});

test("a job that is cancelled while its parcel is being taken along is stopped", async () => {
  const head = await claimedBeforeOthers(world, 3);
  const [job] = await world.sql<Pick<JobKey, "scheduleId" | "occurrence">[]>`
    select schedule_ids[1] as "scheduleId", occurrences[1] as occurrence from carillon.parcels where turn = 'waits' limit 1`;
  if (job === undefined) throw new Error("No parcel waits for a turn.");
  const id = jobId({ ...job, kind: "cadence", n: 0 });
  const own = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  const cancels: ReturnType<typeof cancelJob>[] = [];
  await own.begin(async (tx) => {
    await tx`select from carillon.claim_company(${head.id}, ${head.fence}, 9, ${lease})`;
    cancels.push(cancelJob({ sql: world.sql, queue: world.queue }, { id, caller: { name: "ann" } }));
    await until("the cancel waits", async () => (await waitingLocks(world.sql)) === 1);
  });
  await own.end();
  expect(await Promise.all(cancels)).toMatchObject([{ asked: true, job: { state: "running" } }]);
});
