import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { enqueueJob } from "../../lib/batch/enqueue-job.ts";
import { readJob } from "../../lib/command/job-shape.ts";
import { cancelMany } from "../../lib/job-control/cancel-many.ts";
import { setLimits } from "../../lib/limit/limits.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute, second } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";

/** A claim queues a job at its target at the moment at which the job is cancelled or replaced. */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const deps = () => ({ sql: world.sql, queue: world.queue, log: world.log });
const job = (key: string, payload: unknown) =>
  readJob({ key, payload, target: { handler: "h" } }, { newKey: () => "made" });

const parcelOf = async (key: string) => (await world.jobs(key))[0]?.parcelId ?? "0";
const claim = async (key: string) =>
  (await claimParcel(world.sql, await parcelOf(key), minute, world.window)).outcome;

/** Begins the act before the job is seen to wait at its target, and continues it when it does. */
async function whileMoved<T>(key: string, act: () => Promise<T>): Promise<T> {
  await setLimits(world, { target: "handler/h", limits: { concurrency: 1, rate: null }, caller });
  await enqueueJob(deps(), { ...job("busy", null), ifExists: "replace", caller });
  await enqueueJob(deps(), { ...job(key, 1), ifExists: "replace", caller });
  expect([await claim("busy"), await claim(key)]).toEqual(["claimed", "held"]);
  const parcel = await parcelOf(key);
  await world.sql`update carillon.parcels set turn = null where id = ${parcel}`;
  await world.clock.advance(second);
  const [acting] = await world.sql.begin(async (tx) => {
    await tx`update carillon.parcels set turn = 'waits' where id = ${parcel}`;
    const acts = [act()];
    await until("the act waits for the parcel", async () => (await waitingLocks(world.sql)) === 1);
    return acts;
  });
  if (acting === undefined) throw new Error("The act was not begun.");
  return acting;
}

const states = async (key: string) => (await world.jobs(key)).map(({ state }) => state);

test("a cancel tries a job again that was queued at its target meanwhile, and cancels it", async () => {
  // Otherwise the answer says that no job waited, and the job runs.
  const filter = { key: "one" };
  const done = await whileMoved("one", () => cancelMany(deps(), { filter, limit: 10, caller }));
  expect(done).toMatchObject({ done: 1, running: 0 });
  expect(await states("one")).toEqual(["cancelled"]);
});

const ways: readonly [string, () => Promise<unknown>][] = [
  ["alone", () => enqueueJob(deps(), { ...job("one", 2), ifExists: "replace", caller })],
  [
    "in a batch",
    () => applyOperations(deps(), [{ kind: "put", caller, ...job("one", 2), ifExists: "replace" }]),
  ],
];

test.each(ways)(
  "the replacement of a job that was queued at its target meanwhile runs in its place, not beside it (%s)",
  async (_way, replace) => {
    await whileMoved("one", replace);
    expect(await states("one")).toEqual(["cancelled", "waiting"]);
  },
);
