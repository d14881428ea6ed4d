import { afterEach, beforeEach, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { gate } from "../../lib/db/locks.ts";
import { type JobKey, jobId } from "../../lib/job/job-id.ts";
import type { ClaimedParcel } from "../../lib/parcel/claim.ts";
import { claimCompany } from "../../lib/parcel/claim-together.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { cancelJob } from "../../lib/plan/cancel-jobs.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { due, dueOnce, lease, parcels, swept, workerOf } from "../parcel/limit-world.ts";
import { connectThrough, textOf, type WrapLine } from "../race/lines.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";

/** Parcels of a target whose jobs are quick are worked several at a time by whoever has a place there. */

let world: Carillon;
let worker: Sql;
/** What the worker asked of its parcels, in its order. */
let asked: string[];
/** Whether the server is to get a statement that asks this. */
let arrives: (name: string) => boolean;

const watching: WrapLine = (line) => ({
  ...line,
  run: (statement) => {
    const name = /carillon\.((?:claim|settle)_(?:parcels?|company))\(/.exec(textOf(statement))?.[1];
    if (name !== undefined) asked.push(name);
    if (name === undefined || arrives(name)) line.run(statement);
    else statement.reject(new Error(`${name} is out of order`));
  },
});

beforeEach(async () => {
  world = await carillon();
  worker = connectThrough(world.databaseUrl, watching, { max: 4 });
  world.more.worker = { sql: worker };
  asked = [];
  arrives = () => true;
});

afterEach(async () => {
  await worker.end();
  await world.stop();
});

/** So many parcels of ten jobs for one target, each in a shard of its own, are on their way or wait. */
async function parcelsApart(count: number): Promise<void> {
  await dueOnce(world, "a", count * 10);
  await world.sql`update carillon.schedules set shard = substring(key from 3)::int / 10`;
  await world.sql`update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
  await world.tick();
}

/** All of them wait, and a job there has taken so long. The first of them is claimed. */
async function waiting(count: number, costMs = 1, share = 1): Promise<ClaimedParcel> {
  await parcelsApart(count);
  await world.clock.setNow(due);
  await world.sql`
    update carillon.parcels set turn = 'waits', turn_at = ${due}::timestamptz + shard * interval '1 ms' - interval '1 s', ready_at = 'infinity',
      offer_at = 'infinity'`;
  await world.sql`update carillon.targets set share = ${share}, cost_ms = ${costMs}`;
  const [first = ""] = await swept(world);
  return workerOf(world, share).claimed(first);
}

const companyOf = (head: ClaimedParcel) => claimCompany(world.sql, head, lease);
const sizes = (claimed: readonly ClaimedParcel[]) => claimed.map(({ jobs }) => jobs.length);
const settleAlone = (parcel: ClaimedParcel) =>
  settleParcel(
    world.sql,
    parcel,
    parcel.jobs.map(() => ({ kind: "succeeded" })),
  );
const leased = async () => (await parcels(world)).filter((parcel) => parcel.leased).length;

test("whoever has a place takes nine along, and settles all of them by one statement", async () => {
  await settleAlone(await waiting(13));
  world.window = 1;
  await world.clock.setNow(at(minute + second));
  let underWay = 0;
  world.outcome = async () => {
    underWay = Math.max(underWay, await leased());
    return done;
  };
  expect(await world.work()).toEqual([]);
  expect(world.delivered).toHaveLength(120);
  expect(new Set(world.delivered.map(({ key }) => key)).size).toBe(120);
  expect(underWay).toBe(10);
  const several = asked.filter((name) => name !== "claim_parcel");
  expect(several).toEqual(["claim_company", "settle_parcels", "claim_company", "settle_parcels"]);
  expect((await world.jobs()).map(({ state, attempt, parcelId }) => [state, attempt, parcelId])).toEqual(
    Array(130).fill(["succeeded", 1, null]),
  );
  expect(await parcels(world)).toEqual([]);
  const tallies = await world.sql`
    select sum(succeeded)::int as succeeded, (select sum(n)::int from carillon.tallies t, unnest(t.late_jobs) n) as late from carillon.tallies`;
  expect(tallies).toEqual([{ succeeded: 130, late: 130 }]);
});

test.each([
  { name: "no more than half a second of work", count: 6, costMs: 125, share: 1, takes: [10, 10, 10] },
  { name: "no more than its part of those that wait", count: 12, costMs: 1, share: 4, takes: [10, 10] },
  { name: "none where fewer wait than have a place", count: 3, costMs: 1, share: 4, takes: [] },
  { name: "none where a parcel takes half a second by itself", count: 6, costMs: 500, share: 1, takes: [] },
])("a worker takes along $name", async ({ count, costMs, share, takes }) => {
  const head = await waiting(count, costMs, share);
  expect(head.company > 0).toBe(takes.length > 0);
  expect(sizes(await companyOf(head))).toEqual(takes);
});

test.each([
  { name: "nobody knows what its jobs cost", change: { cost_ms: null } },
  { name: "a limit counts its jobs", change: { concurrency: 5 } },
  { name: "a limit counts its starts", change: { rate_count: 100, rate_ms: 1_000 } },
])("none is taken along where $name", async ({ change }) => {
  const head = await waiting(4);
  expect(head.company).toBe(3);
  await world.sql`update carillon.targets set ${world.sql(change)}`;
  expect(await companyOf(head)).toEqual([]);
  const { outgoing } = await settleAlone(head);
  const next = await workerOf(world, 1).claim(outgoing[0]?.id ?? "");
  if (next.outcome === "claimed") expect(next.company).toBe(0);
});

test("they come in their order and wait no more, and nobody's place is taken by them", async () => {
  const head = await waiting(12);
  const waited = (await parcels(world)).filter(({ turn }) => turn === "waits").map(({ id }) => id);
  const company = await companyOf(head);
  expect(company.map(({ id }) => id)).toEqual(waited.slice(0, 9));
  expect(new Set(company.map(({ fence }) => fence))).toEqual(new Set([1]));
  expect((await parcels(world)).map(({ turn, slots, leased: had }) => [turn, slots, had])).toEqual([
    ...Array(1).fill([null, 10, true]),
    ...Array(9).fill([null, null, true]),
    ...Array(2).fill(["waits", null, false]),
  ]);
});

test("one of which a job may not start goes on waiting, and the others come", async () => {
  const head = await waiting(4);
  await world.sql`update carillon.schedules set held_since = carillon.clock(), held_until = 'infinity' where key = 'a-015'`;
  expect(sizes(await companyOf(head))).toEqual([10, 10]);
  expect((await parcels(world)).filter(({ turn }) => turn === "waits")).toHaveLength(1);
  const { outgoing } = await settleAlone(head);
  const own = await workerOf(world, 1).claimed(outgoing[0]?.id ?? "");
  expect(own.jobs).toHaveLength(9);
});

test("whoever is locked by somebody else is left, be it the parcel or the gate of its shard", async () => {
  const head = await waiting(4);
  const own = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  await own.begin(async (tx) => {
    await tx`select from carillon.parcels where shard = 1 for update`;
    await tx`select pg_advisory_xact_lock(${gate}::int, 2)`;
    expect(sizes(await companyOf(head))).toEqual([10]);
  });
  await own.end();
});

test("whose turn comes is none that somebody just takes along", async () => {
  const head = await waiting(12, 1, 2);
  const [other = ""] = (await parcels(world)).filter(({ turn }) => turn === "granted").map(({ id }) => id);
  const neighbour = await workerOf(world, 2).claimed(other);
  const own = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  await own.begin(async (tx) => {
    const taken = await tx<{ parcel: string }[]>`
      select parcel from carillon.claim_company(${head.id}, ${head.fence}, 5, ${lease}) where occurrence is null`;
    expect(taken).toHaveLength(5);
    const { outgoing } = await settleAlone(neighbour);
    expect(outgoing).toHaveLength(1);
    expect(taken.map(({ parcel }) => parcel)).not.toContain(outgoing[0]?.id);
  });
  await own.end();
  expect((await parcels(world)).filter((parcel) => parcel.leased)).toHaveLength(1 + 5);
});

test("a claim whose lease is over takes nobody along", async () => {
  const head = await waiting(4);
  await world.clock.setNow(at(3 * minute));
  expect(await companyOf(head)).toEqual([]);
});

test("the place is kept until the last of them is through", async () => {
  const head = await waiting(3);
  await settleAlone(head);
  world.window = 1;
  const gateOfLast = Promise.withResolvers<void>();
  const seen: number[] = [];
  world.outcome = async ({ key }) => {
    if (key === "a-029") await gateOfLast.promise;
    return done;
  };
  const working = world.work();
  await expect.poll(() => world.delivered.length).toBe(20);
  seen.push((await parcels(world)).filter(({ slots }) => slots !== null).length);
  gateOfLast.resolve();
  expect(await working).toEqual([]);
  expect(seen).toEqual([1]);
  expect(asked.filter((name) => name.startsWith("settle"))).toEqual(["settle_parcels"]);
});

test("one whose job fails is settled by itself, and so its failure is told", async () => {
  await settleAlone(await waiting(5));
  world.window = 1;
  world.outcome = ({ key }) => (key === "a-025" ? failed("not today") : done);
  expect(await world.work()).toEqual([]);
  expect(asked.filter((name) => name.startsWith("settle")).toSorted()).toEqual([
    "settle_parcel",
    "settle_parcels",
  ]);
  expect((await world.jobs("a-025"))[0]).toMatchObject({ state: "waiting", attempt: 1 });
  expect((await world.jobs()).filter(({ state }) => state === "succeeded")).toHaveLength(49);
});

test("where no others can be claimed the parcel is worked as it is, and so are they", async () => {
  await settleAlone(await waiting(4));
  world.window = 1;
  arrives = (name) => name !== "claim_company";
  expect(await world.work()).toEqual([]);
  expect(world.log.lines.map(({ event }) => event)).toContain("worker.company-left");
  expect(await parcels(world)).toEqual([]);
  expect(world.delivered).toHaveLength(30);
});

test("the jobs of those whose worker has died are worked by others", async () => {
  const head = await waiting(3);
  expect(await companyOf(head)).toHaveLength(2);
  await world.clock.setNow(at(2 * minute));
  world.window = 2;
  await world.tick();
  expect(await world.work()).toEqual([]);
  expect(world.delivered).toHaveLength(30);
  expect((await world.jobs()).map(({ state }) => state)).toEqual(Array(30).fill("succeeded"));
  expect(world.log.lines.filter(({ event }) => event === "parcel.lease-ended")).toHaveLength(3);
});

test("what they took counts once, for all of them", async () => {
  const head = await waiting(5);
  const company = await companyOf(head);
  await world.clock.advance(100);
  const all = [head, ...company];
  await world.sql`
    select from carillon.settle_parcels(${all.map(({ id }) => id)}::bigint[], ${all.map(({ fence }) => fence)}::int[], '{}')`;
  expect(await world.sql`select jobs, ms from carillon.target_work`).toEqual([{ jobs: 50, ms: 1_000 }]);
});

test("a job that is cancelled while its parcel is taken along is told to stop", async () => {
  const head = await waiting(3);
  const [job] = await world.sql<Pick<JobKey, "scheduleId" | "occurrence">[]>`
    select schedule_ids[1] as "scheduleId", occurrences[1] as occurrence from carillon.parcels where turn = 'waits' limit 1`;
  if (job === undefined) throw new Error("Nobody waits.");
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
