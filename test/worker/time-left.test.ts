import { afterEach, beforeEach, expect, test } from "vitest";
import { parcelMessage } from "../../lib/parcel/parcel-queue.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { type Delivery, done, failed } from "../../lib/target/delivery.ts";
import { workMessages } from "../../lib/worker/worker.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { due, oneParcel } from "../support/parcels.ts";
import { type WatchedWorker, watchedWorker } from "../support/watched-worker.ts";

/**
 * Lambda stops an invocation at its time limit without notice, and the result of work under way is
 * lost.
 */

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
 * Works the fast queue; each reading of the clock finds the next of these times left. The last one
 * stays.
 */
function workWith(lefts: number[]): Promise<unknown> {
  const { queue, clock, log } = world;
  const deliver = async (): Promise<Delivery[]> => {
    throw new Error("An attempt has started without time.");
  };
  return workMessages(
    { sql: worker.sql, queue, clock, log, notify: notifyByDefault, deliver, random: () => 1, window: null },
    queue.take("fast"),
    () => (lefts.length > 1 ? lefts.shift() : lefts[0]) ?? 0,
  );
}

test("a claim that took all the time is handed back: no attempt starts that Lambda would stop, and none is counted", async () => {
  await oneParcel(world, 1);
  expect(await workWith([4_000, 4_000, 2_900])).toEqual({ batchItemFailures: [] });
  expect(worker.asked).toEqual(["claim_parcel", "settle_parcel"]);
  expect(await world.jobs()).toMatchObject([{ state: "waiting", attempt: 0, startedAt: null }]);
  expect(await world.sql`select lease_until from carillon.parcels`).toEqual([{ lease_until: null }]);
});

test("parcels of one batch are not claimed in the last seconds of an invocation", async () => {
  await oneParcel(world, 1);
  await world.put("other", { when: `at ${due.toISOString()}` });
  await world.tick();
  await workWith([2_900]);
  expect(worker.asked).toEqual([]);
});

test("a worker waits for a parcel's time only while there is time to work it afterwards", async () => {
  const id = await oneParcel(world, 1);
  await world.clock.setNow(at(minute - 2 * second));
  world.queue.messages = [];
  world.queue.put("fast", parcelMessage(id));
  expect(await world.work(4 * second)).toEqual([]);
  expect(world.delivered).toEqual([]);
  expect(world.queue.messages).toMatchObject([{ queue: "fast", body: parcelMessage(id) }]);
});

test("the lease of quick deliveries ends two seconds after the invocation does, so that no other worker has the jobs before", async () => {
  await oneParcel(world, 1);
  let lease: unknown;
  world.outcome = async () => {
    lease = (await world.sql`select lease_until from carillon.parcels`)[0]?.["lease_until"];
    return done;
  };
  await world.work(20 * second);
  expect(lease).toEqual(at(minute + 22 * second));
});

test.each([
  [6 * second, 1],
  [6 * second - 1, 0],
])("with %i ms left after a settle, the worker sets wanted holds %i times", async (left, times) => {
  await oneParcel(world, 1, { target: { handler: "greet" }, retry: { attempts: 1 } });
  const held: (readonly string[])[] = [];
  world.more.worker.holdWanted = async (ids) => void held.push(ids);
  world.outcome = () => failed("no");
  await world.work(left);
  expect(await world.jobs()).toMatchObject([{ state: "dead" }]);
  expect(held).toHaveLength(times);
});
