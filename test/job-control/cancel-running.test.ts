import { afterEach, beforeEach, expect, test } from "vitest";
import { cancelJob } from "../../lib/edit/cancel-jobs.ts";
import { jobId } from "../../lib/job/job-id.ts";
import { readJob } from "../../lib/job/read-job.ts";
import { cancelMany } from "../../lib/job-control/cancel-many.ts";
import { type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { oneParcel } from "../support/parcels.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const deps = () => ({ sql: world.sql, queue: world.queue, log: world.log });

/** Claims one job and returns its id. */
async function running(): Promise<{ parcel: ClaimedParcel; id: string }> {
  const parcel = await claimParcel(world.sql, await oneParcel(world, 1), minute);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
  const [job] = parcel.jobs;
  if (job === undefined) throw new Error("The parcel is empty.");
  return { parcel, id: jobId(job) };
}

test("a cancel of all waiting jobs does not stop a running job", async () => {
  // Otherwise a caller who clears a queue stops work that is half done.
  const { id } = await running();
  const filter = { state: "waiting" as const };
  expect(await cancelMany(deps(), { filter, limit: 10, caller })).toEqual({
    done: 0,
    running: 0,
    failed: 0,
    entry: null,
  });
  expect(await readJob(world.sql, id)).toMatchObject({ state: "running", cancelling: false });
});

test("a job that succeeded despite a request to stop is no longer shown as cancelling", async () => {
  // Otherwise the API shows for ever that its worker has not answered.
  const { parcel, id } = await running();
  await cancelJob(deps(), { id, caller });
  await settleParcel(world.sql, parcel, [{ kind: "succeeded" }]);
  expect(await readJob(world.sql, id)).toMatchObject({ state: "succeeded", cancelling: false });
});

test("a running job whose schedule was deleted is still cancelled: by its id, and with all jobs of a prefix", async () => {
  // Otherwise a job that hangs for its whole timeout cannot be stopped once its schedule is gone.
  const { parcel, id } = await running();
  const [owner] = await world.sql<{ key: string }[]>`select key from carillon.schedules`;
  await world.remove(owner?.key ?? "");
  const filter = { prefix: owner?.key.slice(0, 1) };
  expect(await cancelMany(deps(), { filter, limit: 10, caller })).toMatchObject({ done: 1, running: 1 });
  expect(await readJob(world.sql, id)).toMatchObject({ state: "running", cancelling: true });
  await settleParcel(world.sql, parcel, [{ kind: "retry", afterMs: 0, error: "It hangs." }]);
  expect(await readJob(world.sql, id)).toMatchObject({ state: "cancelled", reason: "requested" });
});

test("a cancel leaves waiting jobs of a deleted schedule to the claim, which cancels them as deleted", async () => {
  await oneParcel(world, 1);
  const [owner] = await world.sql<{ key: string }[]>`select key from carillon.schedules`;
  await world.remove(owner?.key ?? "");
  expect(await cancelMany(deps(), { filter: {}, limit: 10, caller })).toMatchObject({ done: 0, failed: 0 });
  await world.work();
  expect((await world.jobs())[0]).toMatchObject({ state: "cancelled", reason: "deleted" });
});
