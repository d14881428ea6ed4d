import { afterEach, beforeEach, expect, test } from "vitest";
import type { Tx } from "../../lib/db/connect.ts";
import { gate } from "../../lib/db/locks.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { claimTogether } from "../../lib/parcel/claim-together.ts";
import type { ClaimedJob } from "../../lib/parcel/claimed-job.ts";
import { parcelMessage } from "../../lib/parcel/parcel-queue.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { aborted } from "../support/aborted.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { due } from "../support/parcels.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";
import { type WatchedWorker, watchedWorker } from "../support/watched-worker.ts";

let world: Carillon;
let worker: WatchedWorker;

beforeEach(async () => {
  world = await carillon();
  worker = watchedWorker(world, 2);
});

afterEach(async () => {
  await worker.sql.end();
  await world.stop();
});

/**
 * Stores this number of schedules (`job-0`, `job-1` …) that are due together in a minute, each in a
 * shard and a parcel of its own, with its message on the queue.
 */
async function parcels(count: number): Promise<void> {
  for (let index = 0; index < count; index++)
    await world.put(`job-${index}`, { when: `at ${due.toISOString()}`, payload: index });
  await fireApart();
  await world.clock.setNow(due);
}

/** Fires the stored schedules, each in a shard and so in a parcel of its own. */
async function fireApart(): Promise<void> {
  await world.sql`update carillon.schedules set shard = substring(key from 5)::int + 1`;
  await world.sql`update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
  await world.tick();
}

const events = () => world.log.lines.map(({ event }) => event);
const left = () => world.sql`select shard, lease_until as "leaseUntil" from carillon.parcels order by shard`;
const deliveredKeys = () => world.delivered.map(({ key }) => key).toSorted();

test("parcels that come in one batch are claimed by one statement and settled by one", async () => {
  await parcels(4);
  await world.clock.setNow(at(minute + second));
  expect(await world.work()).toEqual([]);
  expect(worker.asked).toEqual(["claim_parcels", "settle_parcels"]);
  expect(deliveredKeys()).toEqual(["job-0", "job-1", "job-2", "job-3"]);
  const settled = { state: "succeeded", attempt: 1, parcelId: null, startedAt: at(minute + second) };
  expect(await world.jobs()).toMatchObject([settled, settled, settled, settled]);
  expect(await left()).toEqual([]);
  const tallies = await world.sql`
    select sum(succeeded)::int as succeeded, (select sum(n)::int from carillon.tallies t, unnest(t.late_jobs) n) as late from carillon.tallies`;
  expect(tallies).toEqual([{ succeeded: 4, late: 4 }]);
});

test("a parcel that comes alone is claimed and settled by the statements for one parcel", async () => {
  await parcels(1);
  await world.work();
  expect(worker.asked).toEqual(["claim_parcel", "settle_parcel"]);
});

test("a parcel that came twice in the batch is worked once", async () => {
  await parcels(2);
  world.queue.fate = () => "twice";
  for (const { id } of await world.sql<{ id: string }[]>`select id from carillon.parcels`)
    world.queue.put("fast", parcelMessage(id));
  expect(await world.work()).toEqual([]);
  expect(deliveredKeys()).toEqual(["job-0", "job-1"]);
  expect(events()).not.toContain("worker.lease-lost");
});

test("a parcel with a job that may not start is claimed alone, and the others stay together", async () => {
  await parcels(3);
  await world.sql`
    update carillon.schedules set held_since = carillon.clock(), held_until = 'infinity' where key = 'job-1'`;
  expect(await world.work()).toEqual([]);
  expect(worker.asked).toEqual(["claim_parcels", "claim_parcel", "settle_parcels"]);
  expect(deliveredKeys()).toEqual(["job-0", "job-2"]);
  expect(await world.jobs("job-1")).toMatchObject([{ state: "waiting", attempt: 0, startedAt: null }]);
  expect(await left()).toEqual([{ shard: 2, leaseUntil: null }]);
});

test("a parcel in a lane or for a handler is claimed alone", async () => {
  await parcels(2);
  await world.put("laned", { when: `at ${due.toISOString()}`, overlap: "skip" });
  await world.put("slow", { when: `at ${due.toISOString()}`, target: { handler: "greet" } });
  await world.tick();
  expect(await world.work()).toEqual([]);
  expect(deliveredKeys()).toEqual(["job-0", "job-1", "laned", "slow"]);
  expect(worker.asked.filter((name) => name === "claim_parcels")).toHaveLength(1);
  expect(worker.asked.filter((name) => name === "claim_parcel")).toHaveLength(2);
  expect(await left()).toEqual([]);
});

test("parcels that come early are waited for one by one, and no job starts before it is due", async () => {
  await parcels(2);
  await world.clock.setNow(at(minute - second));
  // The clock is advanced only once both wait: a wait that began after the other had advanced it
  // would end late.
  const asleep: (() => void)[] = [];
  const sleep = async (ms: number, signal?: AbortSignal) => {
    if (signal !== undefined) return aborted(signal);
    const { promise, resolve } = Promise.withResolvers<void>();
    if (asleep.push(resolve) === 2) {
      await world.clock.advance(ms);
      for (const wake of asleep) wake();
    }
    return promise;
  };
  world.more.worker = { ...world.more.worker, clock: { now: world.clock.now, sleep } };
  expect(await world.work()).toEqual([]);
  expect(world.delivered).toMatchObject([{ at: due.toISOString() }, { at: due.toISOString() }]);
  expect(worker.asked.filter((name) => name.endsWith("parcels"))).toEqual(["claim_parcels"]);
});

test("a parcel with a failed job is settled alone", async () => {
  await parcels(3);
  world.outcome = ({ key }) => (key === "job-2" ? failed("not today") : done);
  await world.work();
  expect(worker.asked.toSorted()).toEqual(["claim_parcels", "settle_parcel", "settle_parcels"]);
  expect((await world.jobs()).map(({ state }) => state)).toEqual(["succeeded", "succeeded", "waiting"]);
});

test("a later attempt of jobs settled together is recorded, and the bus is notified of each", async () => {
  await parcels(2);
  world.more.worker.notify = ["succeeded", "failed"];
  world.outcome = () => failed("not today");
  await world.work();
  world.outcome = () => done;
  await world.clock.advance(5 * minute);
  worker.asked.length = 0;
  await world.work();
  expect(worker.asked).toEqual(["claim_parcels", "settle_parcels"]);
  expect(
    await world.sql`select attempt, outcome from carillon.attempts order by attempt, schedule_id`,
  ).toEqual([1, 1, 2, 2].map((attempt) => ({ attempt, outcome: attempt === 1 ? "failed" : "succeeded" })));
  expect(await world.sql`select attempt from carillon.outbox where event = 'succeeded'`).toEqual([
    { attempt: 2 },
    { attempt: 2 },
  ]);
});

test("a parcel whose lease was lost is not written, and the others are settled", async () => {
  await parcels(3);
  world.outcome = async ({ key }) => {
    if (key === "job-1") await world.sql`update carillon.parcels set fence = fence + 1 where shard = 2`;
    return done;
  };
  await world.work();
  expect((await world.jobs()).map(({ state }) => state)).toEqual(["succeeded", "waiting", "succeeded"]);
  expect(events().filter((event) => event === "worker.lease-lost")).toHaveLength(1);
});

test("parcels whose claim or settle together fails are claimed or settled one by one", async () => {
  await parcels(2);
  worker.arrives = (name) => !name.endsWith("parcels");
  expect(await world.work()).toEqual([]);
  expect(deliveredKeys()).toEqual(["job-0", "job-1"]);
  expect(worker.asked).toEqual([
    "claim_parcels",
    "claim_parcel",
    "claim_parcel",
    "settle_parcel",
    "settle_parcel",
  ]);
  expect(events()).toEqual(["worker.claim-apart"]);

  worker.asked.length = 0;
  worker.arrives = (name) => name !== "settle_parcels";
  await world.put("job-8", { when: `at ${at(2 * minute).toISOString()}` });
  await world.put("job-9", { when: `at ${at(2 * minute).toISOString()}` });
  await fireApart();
  await world.clock.setNow(at(2 * minute));
  expect(await world.work()).toEqual([]);
  expect(worker.asked).toEqual(["claim_parcels", "settle_parcels", "settle_parcel", "settle_parcel"]);
  expect((await world.jobs()).every(({ state }) => state === "succeeded")).toBe(true);
});

test("a claim of several parcels waits for an edit in their shards, and sees its result", async () => {
  await parcels(2);
  const passed = Promise.withResolvers<void>();
  const commit = Promise.withResolvers<void>();
  const editing = world.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${gate}, 2)`;
    await tx`update carillon.schedules set held_since = carillon.clock(), held_until = 'infinity' where key = 'job-1'`;
    passed.resolve();
    await commit.promise;
  });
  await passed.promise;
  const working = world.work();
  await until("the claim waits", async () => (await waitingLocks(world.sql, gate)) > 0);
  commit.resolve();
  await Promise.all([editing, working]);
  expect(deliveredKeys()).toEqual(["job-0"]);
});

test("a claim of several parcels returns each job as a claim of one does, with unusual columns too", async () => {
  await parcels(5);
  await world.sql`update carillon.jobs j set attempt = 2 from carillon.schedules s where s.id = j.schedule_id and s.key = 'job-1'`;
  await world.sql`
    update carillon.jobs j set due_at = due_at - interval '1 second' from carillon.schedules s where s.id = j.schedule_id and s.key = 'job-2'`;
  await world.sql`
    with changed as (update carillon.schedules set version = 2, spec_version = 2 where key = 'job-3' returning id)
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, once_at, body, target, payload)
    select v.schedule_id, 2, v.change, v.changed_at, v.changed_by, 2, false, v.once_at, v.body, v.target, '"changed"'
    from carillon.schedule_versions v join changed c on c.id = v.schedule_id`;
  const rows = await world.sql<{ id: string; key: string }[]>`
    select p.id, s.key from carillon.parcels p join carillon.schedules s on s.id = p.schedule_ids[1] order by s.key`;
  const ids = rows.map(({ id }) => id);
  const claimed = await claimTogether(world.sql, ids, minute);
  const together = ids.flatMap((id) => claimed.get(id)?.jobs ?? []);
  await world.sql`update carillon.parcels set lease_until = null, claimed_at = null`;
  const alone: ClaimedJob[] = [];
  for (const id of ids) {
    const claim = await claimParcel(world.sql, id, minute);
    if (claim.outcome === "claimed") alone.push(...claim.jobs);
  }
  expect(together).toEqual(alone);
  expect(together).toMatchObject([
    { kind: "cadence", n: 0, attempt: 0, dueAt: due, plannedVersion: 1, version: 1 },
    { attempt: 2 },
    { dueAt: new Date(due.getTime() - second), occurrence: due },
    { plannedVersion: 1, version: 2, payload: "changed" },
    { key: "job-4" },
  ]);
});

test("a claim of several parcels does not wait for the disk, and their settle does", async () => {
  await parcels(2);
  const rows = await world.sql<{ id: string }[]>`select id from carillon.parcels`;
  const ids = rows.map(({ id }) => id);
  const afterIn = async (act: (tx: Tx) => PromiseLike<unknown>) =>
    world.sql.begin(async (tx) => {
      await tx`set local synchronous_commit = 'on'`;
      await act(tx);
      return tx`show synchronous_commit`;
    });
  const claim = (tx: Tx) => tx`select from carillon.claim_parcels(${ids}::bigint[], ${minute})`;
  expect(await afterIn(claim)).toEqual([{ synchronous_commit: "off" }]);
  const settle = (tx: Tx) => tx`
    select from carillon.settle_parcels(${ids}::bigint[], array(
      select p.fence from unnest(${ids}::bigint[]) with ordinality i (id, n) join carillon.parcels p on p.id = i.id order by i.n), '{}')`;
  expect(await afterIn(settle)).toEqual([{ synchronous_commit: "on" }]);
  expect(await left()).toEqual([]);
});
