import { afterEach, beforeEach, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { claimCompany } from "../../lib/parcel/claim-together.ts";
import { parcelMessage } from "../../lib/parcel/parcel-queue.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { type Deliver, type Delivery, done, failed } from "../../lib/target/delivery.ts";
import { sideBySide, turnMs } from "../../lib/target/side-by-side.ts";
import { workMessages } from "../../lib/worker/worker.ts";
import { claimedBeforeOthers, due, lease, parcels, settleAlone } from "../parcel/limit-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { type WatchedWorker, watchedWorker } from "../support/watched-worker.ts";

/** A worker with a place at a target with quick jobs works several of its parcels at a time. */

let world: Carillon;
let worker: WatchedWorker;

beforeEach(async () => {
  world = await carillon();
  worker = watchedWorker(world, 4);
});

afterEach(async () => {
  await worker.sql.end();
  await world.stop();
});

const leased = async () => (await parcels(world)).filter((parcel) => parcel.leased).length;

test("a worker with a place takes nine parcels along, and settles all of them by one statement", async () => {
  await settleAlone(world, await claimedBeforeOthers(world, 13));
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
  const several = worker.asked.filter((name) => name !== "claim_parcel");
  expect(several).toEqual([
    "claim_company",
    "settle_parcels",
    "leave_places",
    "claim_company",
    "settle_parcels",
  ]);
  expect((await world.jobs()).map(({ state, attempt, parcelId }) => [state, attempt, parcelId])).toEqual(
    Array(130).fill(["succeeded", 1, null]),
  );
  expect(await parcels(world)).toEqual([]);
  const tallies = await world.sql`
    select sum(succeeded)::int as succeeded, (select sum(n)::int from carillon.tallies t, unnest(t.late_jobs) n) as late from carillon.tallies`;
  expect(tallies).toEqual([{ succeeded: 130, late: 130 }]);
});

test("a worker starts its own jobs before its company is claimed", async () => {
  await settleAlone(world, await claimedBeforeOthers(world, 4));
  world.window = 1;
  const claimed = Promise.withResolvers<boolean>();
  worker.arrives = (name) => name !== "claim_company" || claimed.promise;
  const working = world.work();
  await expect.poll(() => world.delivered.length).toBe(10);
  expect(worker.asked.filter((name) => name.startsWith("settle"))).toEqual([]);
  claimed.resolve(true);
  expect(await working).toEqual([]);
  expect(world.delivered).toHaveLength(30);
  expect(worker.asked.filter((name) => name.startsWith("settle"))).toEqual(["settle_parcels"]);
});

test("a company is claimed while a handler of the worker has its transaction open", async () => {
  const head = await claimedBeforeOthers(world, 3);
  await world.sql.begin(async (tx) => {
    await tx`select from carillon.parcels where id = ${head.id} for share`;
    const impatient = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
    try {
      await impatient`set lock_timeout = '200ms'`;
      expect(await claimCompany(impatient, { ...head, company: 9 }, lease)).toHaveLength(2);
    } finally {
      await impatient.end();
    }
  });
});

test("a worker keeps its place until the last of its company has finished", async () => {
  const head = await claimedBeforeOthers(world, 3);
  await settleAlone(world, head);
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
  expect(worker.asked.filter((name) => name.startsWith("settle"))).toEqual(["settle_parcels"]);
});

test("a parcel of the company with a failed job is settled by itself, and its failure is recorded", async () => {
  await settleAlone(world, await claimedBeforeOthers(world, 5));
  world.window = 1;
  world.outcome = ({ key }) => (key === "a-025" ? failed("not today") : done);
  expect(await world.work()).toEqual([]);
  expect(worker.asked.filter((name) => name.startsWith("settle")).toSorted()).toEqual([
    "settle_parcel",
    "settle_parcels",
  ]);
  expect((await world.jobs("a-025"))[0]).toMatchObject({ state: "waiting", attempt: 1 });
  expect((await world.jobs()).filter(({ state }) => state === "succeeded")).toHaveLength(49);
});

test("a parcel of the company whose delivery breaks keeps the message, and the others are settled", async () => {
  await settleAlone(world, await claimedBeforeOthers(world, 5));
  world.window = 1;
  world.outcome = ({ key }) => (key === "a-025" ? Promise.reject(new Error("broken")) : done);
  expect(await world.work()).toHaveLength(1);
  const states = (await world.jobs()).map(({ state }) => state);
  expect(states.filter((state) => state === "succeeded")).toHaveLength(40);
  expect(states.filter((state) => state === "waiting")).toHaveLength(10);
});

test("parcels of the company that get no place within five seconds go back, without a counted attempt", async () => {
  await settleAlone(world, await claimedBeforeOthers(world, 3));
  const hanging = Promise.withResolvers<void>();
  const started: string[] = [];
  const deliver: Deliver = async (jobs, { places }) => {
    const deliveries: Delivery[] = jobs.map(() => ({ kind: "back" }));
    await sideBySide(jobs, places, world.clock, async ({ key }, index) => {
      started.push(key);
      await hanging.promise;
      deliveries[index] = done;
    });
    return deliveries;
  };
  const { queue, clock, log } = world;
  const working = workMessages(
    { sql: worker.sql, queue, clock, log, notify: notifyByDefault, deliver, random: () => 1, window: 1 },
    queue.take("slow"),
    () => minute,
  );
  await until("the company is claimed", async () => (await leased()) === 2);
  await expect.poll(() => started.length).toBe(10);
  await world.clock.advance(turnMs);
  // Otherwise these parcels would stay behind the hanging jobs until Lambda stops the worker.
  await until("the others are back", async () => (await leased()) === 1);
  hanging.resolve();
  await working;
  expect(started).toHaveLength(10);
  const others = (await world.jobs()).filter(({ key }) => key >= "a-020");
  expect(others.map(({ state, attempt }) => [state, attempt])).toEqual(Array(10).fill(["waiting", 0]));
});

test("parcels of the company that get no room for their payloads within five seconds go back", async () => {
  await settleAlone(world, await claimedBeforeOthers(world, 8));
  await world.sql`update carillon.schedule_versions set payload = to_jsonb(repeat('x', 20000))`;
  const hanging = Promise.withResolvers<void>();
  let delivering = 0;
  const deliver: Deliver = async (jobs) => {
    delivering += 1;
    await hanging.promise;
    return jobs.map(() => done);
  };
  const { queue, clock, log } = world;
  const working = workMessages(
    { sql: worker.sql, queue, clock, log, notify: notifyByDefault, deliver, random: () => 1, window: 1 },
    queue.take("slow"),
    () => minute,
  );
  await until("the company is claimed", async () => (await leased()) === 7);
  await expect.poll(() => delivering).toBe(4);
  await world.clock.advance(turnMs);
  await until("the others are back", async () => (await leased()) === 4);
  hanging.resolve();
  await working;
  expect(delivering).toBe(4);
});

test("if the company cannot be claimed, the worker's own parcel is worked alone, and the others later", async () => {
  await settleAlone(world, await claimedBeforeOthers(world, 4));
  world.window = 1;
  worker.arrives = (name) => name !== "claim_company";
  expect(await world.work()).toEqual([]);
  expect(world.log.lines.map(({ event }) => event)).toContain("worker.company-left");
  expect(await parcels(world)).toEqual([]);
  expect(world.delivered).toHaveLength(30);
});

test("a job that hangs keeps one of the worker's places, and the other jobs of its parcel start", async () => {
  await settleAlone(world, await claimedBeforeOthers(world, 11));
  world.window = 1;
  const hanging = Promise.withResolvers<void>();
  const started: string[] = [];
  world.more.worker.deliver = async (jobs, { places }) => {
    await sideBySide(jobs, places, world.clock, async ({ key }) => {
      started.push(key);
      if (key === "a-020") await hanging.promise;
    });
    return jobs.map(() => done);
  };
  const working = world.work();
  await expect.poll(() => started.length).toBe(100);
  hanging.resolve();
  expect(await working).toEqual([]);
});

test("a worker takes no parcel along if there is hardly time for one", async () => {
  await settleAlone(world, await claimedBeforeOthers(world, 11));
  world.window = 1;
  await world.work(30_000);
  expect(worker.asked).not.toContain("claim_company");
  expect(await parcels(world)).toEqual([]);
});

test("a parcel to which its own claim gave a turn gets a message if the claim took all the time", async () => {
  await claimedBeforeOthers(world, 3);
  const fresh = (await parcels(world)).filter(({ turn }) => turn === "waits").at(-1)?.id ?? "";
  await world.sql`update carillon.parcels set turn = null, ready_at = ${due}, offer_at = ${due} where id = ${fresh}`;
  world.queue.put("slow", parcelMessage(fresh));
  const lefts = [4_000, 2_900];
  const deps = {
    sql: worker.sql,
    queue: world.queue,
    clock: world.clock,
    log: world.log,
    notify: notifyByDefault,
  };
  await workMessages(
    { ...deps, deliver: () => Promise.reject(new Error("There was no time.")), random: () => 1, window: 4 },
    world.queue.take("slow"),
    () => lefts.shift() ?? 2_900,
  );
  expect(worker.asked).toEqual(["claim_parcel"]);
  expect(world.queue.take("slow").map(({ body }) => body)).toContain(parcelMessage(fresh));
});

test("if the query for the next turn fails, all parcels are settled, and the next tick gives the turn", async () => {
  await settleAlone(world, await claimedBeforeOthers(world, 13));
  world.window = 1;
  worker.arrives = (name) => name !== "leave_places";
  expect(await world.work()).toEqual([]);
  expect(world.log.lines.map(({ event }) => event)).toContain("worker.turns-left");
  expect((await parcels(world)).map(({ turn }) => turn)).toEqual(["waits", "waits"]);
  expect(world.delivered).toHaveLength(100);
  worker.arrives = () => true;
  await world.tick();
  expect(await world.work()).toEqual([]);
  expect(await parcels(world)).toEqual([]);
});

test("the jobs of a company whose worker has died are worked by others", async () => {
  const head = await claimedBeforeOthers(world, 3);
  expect(await claimCompany(world.sql, head, lease)).toHaveLength(2);
  await world.clock.setNow(at(2 * minute));
  world.window = 2;
  await world.tick();
  expect(await world.work()).toEqual([]);
  expect(world.delivered).toHaveLength(30);
  expect((await world.jobs()).map(({ state }) => state)).toEqual(Array(30).fill("succeeded"));
  expect(world.log.lines.filter(({ event }) => event === "parcel.lease-ended")).toHaveLength(3);
});
