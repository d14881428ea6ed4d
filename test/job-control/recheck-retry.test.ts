import { afterEach, beforeEach, expect, test } from "vitest";
import { jobId } from "../../lib/job/job-id.ts";
import { retryJob } from "../../lib/job-control/retry-jobs.ts";
import { handler, type RecheckWorld, recheckWorld } from "../history/recheck-world.ts";
import { at, hour } from "../support/instants.ts";

let world: RecheckWorld;

beforeEach(async () => {
  world = await recheckWorld();
});

afterEach(() => world.stop());

test("a recheck that an edit has cancelled runs when it is retried, with the current payload of the schedule", async () => {
  // Otherwise its claim cancels it again, and the acknowledged retry never runs.
  await world.checkedTwice("order");
  await world.put("order", { when: "in 1m", ...handler, payload: "new" });
  const { id: scheduleId } = await world.read("order");
  const id = jobId({ scheduleId, occurrence: at(2 * hour), kind: "again", n: 0 });
  const { sql, queue } = world;
  expect(await retryJob({ sql, queue }, { id, caller: { name: "ann" } })).toMatchObject({ state: "waiting" });
  world.delivered = [];
  await world.workAt(2 * hour);
  expect(world.delivered).toContainEqual(
    expect.objectContaining({ occurrence: at(2 * hour).toISOString(), payload: "new" }),
  );
});
