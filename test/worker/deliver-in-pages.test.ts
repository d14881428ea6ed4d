import { afterEach, beforeEach, expect, test } from "vitest";
import { type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { type Deliver, done } from "../../lib/target/delivery.ts";
import { turnMs } from "../../lib/target/side-by-side.ts";
import { deliverInPages, pageRoom } from "../../lib/worker/deliver-in-pages.ts";
import { dueOnce } from "../parcel/limit-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { deliveryContext } from "../support/delivery-context.ts";
import { minute } from "../support/instants.ts";
import { due } from "../support/parcels.ts";

/** Jobs with heavy payloads are delivered page by page, to limit the memory of a worker. */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const megabyte = 1_048_576;
const bytesOf = (jobs: readonly { payload: unknown }[]) =>
  jobs.reduce((sum, { payload }) => sum + JSON.stringify(payload).length, 0);

/**
 * Parcels of this number of jobs, each with a payload of a megabyte: larger than a caller may send,
 * so that a few jobs are enough.
 */
async function heavyParcels(
  parcels: number,
  jobs: number,
  target: object = { queue: "demo" },
): Promise<string[]> {
  await dueOnce(world, "job", parcels * jobs, { target });
  await world.sql`update carillon.schedules set shard = substring(key from 5)::int / ${jobs}::int`;
  await world.sql`update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
  await world.sql`
    update carillon.schedule_versions v set payload = to_jsonb(s.key || repeat('x', ${megabyte - 100}))
    from carillon.schedules s where s.id = v.schedule_id`;
  await world.tick();
  await world.clock.setNow(due);
  const rows = await world.sql<{ id: string }[]>`select id from carillon.parcels order by shard, id`;
  return rows.map(({ id }) => id);
}

async function claimed(id: string | undefined): Promise<ClaimedParcel> {
  const claim = await claimParcel(world.sql, id ?? "", minute);
  if (claim.outcome !== "claimed") throw new Error(`The parcel is ${claim.outcome}.`);
  return claim;
}

const pagesDeps = (deliver: Deliver) => ({ ...world, deliver });
const kindsOf = (outcomes: readonly ({ kind: string } | undefined)[]) =>
  outcomes.map((outcome) => outcome?.kind);

test("a parcel is delivered in order and in pages of two megabytes, each job whole", async () => {
  const [id] = await heavyParcels(1, 10);
  const pages: string[][] = [];
  world.more.worker = {
    deliver: async (jobs) => {
      expect(bytesOf(jobs)).toBeLessThanOrEqual(2 * megabyte);
      for (const { key, payload } of jobs) expect(String(payload).startsWith(`${key}x`)).toBe(true);
      pages.push(jobs.map(({ key }) => key));
      return jobs.map(() => done);
    },
  };
  expect(id).toBeDefined();
  expect(await world.work()).toEqual([]);
  expect(pages.map((page) => page.length)).toEqual([2, 2, 2, 2, 2]);
  expect(pages.flat()).toEqual(pages.flat().toSorted());
  expect((await world.jobs()).map(({ state, attempt }) => [state, attempt])).toEqual(
    Array(10).fill(["succeeded", 1]),
  );
});

test("all parcels of a worker have four pages in memory at most", async () => {
  await heavyParcels(6, 5);
  let [now, most, calls] = [0, 0, 0];
  const fourAreThere = Promise.withResolvers<void>();
  world.more.worker = {
    deliver: async (jobs) => {
      const bytes = bytesOf(jobs);
      now += bytes;
      most = Math.max(most, now);
      calls += 1;
      if (calls === 4) fourAreThere.resolve();
      await fourAreThere.promise;
      // A fifth page would be read meanwhile.
      for (let trip = 0; trip < 10; trip++) await world.sql`select 1`;
      now -= bytes;
      return jobs.map(() => done);
    },
  };
  expect(await world.work()).toEqual([]);
  expect(most).toBeGreaterThan(6 * megabyte);
  expect(most).toBeLessThanOrEqual(8 * megabyte);
  expect((await world.jobs()).map(({ state }) => state)).toEqual(Array(30).fill("succeeded"));
});

test("a handler that takes its group together gets eight megabytes in one call", async () => {
  const [id] = await heavyParcels(1, 20);
  const parcel = await claimed(id);
  const jobs = parcel.jobs.map((job) => ({ ...job, lane: "grouped/digest/person:1" }));
  const calls: number[] = [];
  const deliver: Deliver = async (page) => {
    calls.push(page.length);
    return page.map(() => done);
  };
  await deliverInPages(pagesDeps(deliver), { ...parcel, jobs }, deliveryContext(), true);
  expect(calls).toEqual([8, 8, 4]);
});

test("jobs whose page has not begun when the time is up go back, without a counted attempt", async () => {
  const [id] = await heavyParcels(1, 10);
  let timeLeftMs = 60_000;
  const deliver: Deliver = async (jobs) => {
    timeLeftMs = 4_000;
    return jobs.map(() => done);
  };
  const context = deliveryContext({ timeLeftMs: () => timeLeftMs });
  const outcomes = await deliverInPages(pagesDeps(deliver), await claimed(id), context, false);
  expect(kindsOf(outcomes)).toEqual([...Array(2).fill("done"), ...Array(8).fill("back")]);
});

test.each([
  ["slow", true, 2],
  ["fast", false, 10],
])("jobs of a %s parcel without a page go back when its turn is over: %s", async (_, hasTurn, delivered) => {
  const [id] = await heavyParcels(1, 10);
  const deliver: Deliver = async (jobs) => {
    await world.clock.advance(turnMs);
    return jobs.map(() => done);
  };
  const outcomes = await deliverInPages(
    pagesDeps(deliver),
    await claimed(id),
    deliveryContext({ timeLeftMs: () => 60_000 }),
    hasTurn,
  );
  expect(kindsOf(outcomes).filter((kind) => kind === "done")).toHaveLength(delivered);
});

test("a parcel that waits for room when the room is closed goes back as a whole", async () => {
  const [id] = await heavyParcels(1, 2);
  const room = pageRoom();
  while (room.take() === true);
  const never: Deliver = () => Promise.reject(new Error("The job was delivered."));
  const waiting = deliverInPages({ ...pagesDeps(never), room }, await claimed(id), deliveryContext(), true);
  room.close();
  expect(kindsOf(await waiting)).toEqual(["back", "back"]);
});

test("jobs that were delivered before a page that fails are settled, and the others wait as before", async () => {
  await heavyParcels(1, 10);
  let calls = 0;
  world.more.worker = {
    deliver: async (jobs) => {
      calls += 1;
      if (calls === 2) throw new Error("The second page fails.");
      return jobs.map(() => done);
    },
  };
  expect(await world.work()).toEqual([]);
  expect(world.log.lines.map(({ event }) => event)).toContain("worker.pages-left");
  expect(calls).toBe(6);
  expect((await world.jobs()).map(({ state, attempt }) => [state, attempt])).toEqual(
    Array(10).fill(["succeeded", 1]),
  );
});

test("a job whose payload is gone fails, and the other jobs are delivered", async () => {
  const [id] = await heavyParcels(1, 3);
  const parcel = await claimed(id);
  const jobs = parcel.jobs.map((job, index) => (index === 1 ? { ...job, scheduleId: "999" } : job));
  const keys: string[] = [];
  const deliver: Deliver = async (page) => {
    keys.push(...page.map(({ key }) => key));
    return page.map(() => done);
  };
  const outcomes = await deliverInPages(pagesDeps(deliver), { ...parcel, jobs }, deliveryContext(), false);
  expect(kindsOf(outcomes)).toEqual(["done", "failed", "done"]);
  expect(keys).toEqual([jobs[0]?.key, jobs[2]?.key]);
});

test("a job whose payload cannot be found has failed an attempt, and is not claimed again at once", async () => {
  await heavyParcels(1, 1);
  // The row of the version that it was planned with is missing, as in a table that was restored in
  // part.
  await world.sql`update carillon.jobs set version = version + 1`;
  expect(await world.work()).toEqual([]);
  expect(await world.jobs()).toMatchObject([
    { state: "waiting", attempt: 1, error: "Its payload is missing." },
  ]);
});
