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
