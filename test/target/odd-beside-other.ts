import { expect } from "vitest";
import type { JobHandler } from "../../lib/job/define-job.ts";
import { at, minute, second } from "../support/instants.ts";
import { type HandlerWorld, handlerWorld } from "./handler-world.ts";

/** Whether the job is the misbehaving one, by its key. */
export const isOdd = ({ key }: { key: string }) => key === "odd";

export const succeeded = { state: "succeeded", attempt: 1 };
export const triedAgain = {
  state: "waiting",
  attempt: 1,
  readyAt: at(10 * second + 3 * minute),
  parcelId: expect.any(String),
};

/** A world in which two jobs of one parcel have run, one of them misbehaving. */
export async function ranOddBesideOther(handler: JobHandler): Promise<HandlerWorld> {
  const world = await handlerWorld(handler);
  for (const key of ["odd", "other"])
    await world.put(key, {
      when: `at ${at(10 * second).toISOString()}`,
      group: "g",
      target: { handler: handler.name },
      payload: key,
      retry: { base: "3m", backoff: "fixed", jitter: "none" },
    });
  await world.sql`update carillon.schedules set shard = 0`;
  await world.sql`update carillon.plan set shard = 0`;
  await world.clock.advance(10 * second);
  expect(await world.runDue()).toBe(0);
  return world;
}

/** The rows of both jobs. */
export async function bothJobs(world: HandlerWorld) {
  const [odd] = await world.jobs("odd");
  const [other] = await world.jobs("other");
  return { odd, other };
}
