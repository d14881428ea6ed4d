import { afterEach, beforeEach, expect, test } from "vitest";
import { cancelJob } from "../../lib/edit/cancel-jobs.ts";
import { explain } from "../../lib/explain/explain.ts";
import { jobId } from "../../lib/job/job-id.ts";
import { cancelMany } from "../../lib/job-control/cancel-many.ts";
import { retryJob } from "../../lib/job-control/retry-jobs.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { due, oneParcel } from "../support/parcels.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const deps = () => ({ sql: world.sql, queue: world.queue, log: world.log });
const caller = { name: "bob" };

const sentence = async () => (await explain(world.sql, { key: "job-0", at: due })).sentence;

async function theJob(): Promise<string> {
  const [row] = await world.sql<
    { scheduleId: string }[]
  >`select id as "scheduleId" from carillon.schedules where key = 'job-0'`;
  return jobId({ scheduleId: row?.scheduleId ?? "", occurrence: due, kind: "cadence", n: 0 });
}

test("A cancelled job names the caller that cancelled it, the time and the reason", async () => {
  await oneParcel(world, 1);
  await cancelJob(deps(), { id: await theJob(), reason: "not wanted", caller });
  await world.clock.advance(minute);
  expect(await sentence()).toBe(
    'Was cancelled at 2026-03-02T10:01:00Z, requested by token `bob` at 2026-03-02T10:01:00Z ("not wanted").',
  );
});

test("A job cancelled with many others names the caller, and how often it had been attempted", async () => {
  await oneParcel(world, 1);
  world.outcome = () => failed("no");
  await world.work();
  await cancelMany(deps(), { filter: { prefix: "job" }, limit: 10, caller });
  expect(await sentence()).toBe(
    "Was cancelled at 2026-03-02T10:01:00Z, requested by token `bob` at 2026-03-02T10:01:00Z. It had one attempt before.",
  );
});

test("A running job names the caller that requested its cancellation", async () => {
  await claimParcel(world.sql, await oneParcel(world, 1), 30 * second);
  await cancelJob(deps(), { id: await theJob(), caller });
  expect(await sentence()).toBe(
    "Is running, on time: due at 2026-03-02T10:01:00Z, it started at 2026-03-02T10:01:00Z and is not done yet; its cancellation was requested by token `bob` at 2026-03-02T10:01:00Z.",
  );
});

test("A retried job names the caller that retried it", async () => {
  await oneParcel(world, 1, { retry: { attempts: 1 } });
  world.outcome = () => failed("no");
  await world.work();
  await world.clock.advance(minute);
  await retryJob(deps(), { id: await theJob(), reason: "fixed", caller });
  world.outcome = () => done;
  await world.work();
  const told = await sentence();
  expect(told).toContain("and succeeded at 2026-03-02T10:02:00Z, at attempt 2");
  expect(told.endsWith('It was retried by token `bob` at 2026-03-02T10:02:00Z ("fixed").')).toBe(true);
  expect((await world.jobs())[0]?.finishedAt).toEqual(at(2 * minute));
});
