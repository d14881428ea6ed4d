import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { enqueueJob } from "../../lib/batch/enqueue-job.ts";
import { readJob } from "../../lib/command/job-shape.ts";
import { Refusal } from "../../lib/refusal.ts";
import { done } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { second } from "../support/instants.ts";

/** Schedules and jobs that an enqueue does not change. */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const deps = () => ({ sql: world.sql, queue: world.queue });
const job = (payload: unknown) =>
  readJob({ key: "one", payload, target: { queue: "demo" } }, { newKey: () => "made" });

const ways: readonly [string, (payload: unknown) => Promise<string>][] = [
  [
    "alone",
    (payload) =>
      enqueueJob(deps(), { ...job(payload), caller }).then(
        ({ change }) => change,
        (error) => (error instanceof Refusal ? error.kind : Promise.reject(error)),
      ),
  ],
  [
    "in a batch",
    async (payload) => {
      const [applied] = await applyOperations(deps(), [{ kind: "put", caller, ...job(payload) }]);
      return applied?.change === "refused" ? applied.refusal.kind : (applied?.change ?? "");
    },
  ],
];

test.each(ways)("an enqueue under the key of a schedule is refused (%s)", async (_way, enqueue) => {
  // Otherwise a typing error in a key makes a nightly report run once, and never again.
  await world.put("one", { when: "0 2 * * *" });
  expect(await enqueue(1)).toBe("conflict");
  const rows = await world.sql`select version, max_fires from carillon.schedules where deleted_at is null`;
  expect(rows).toEqual([{ version: 1, max_fires: null }]);
  expect(await world.jobs()).toEqual([]);
});

test.each(ways)(
  "an enqueue lets the running job of its key end, and runs after it (%s)",
  async (_way, enqueue) => {
    // Otherwise the work of the first job is stopped half done.
    await enqueue(1);
    const meanwhile: unknown[] = [];
    world.outcome = async ({ payload }) => {
      if (payload === 1) {
        await world.clock.advance(second);
        meanwhile.push(await enqueue(2));
        meanwhile.push(
          ...(await world.sql`select cancel_asked as asked from carillon.jobs where attempt = 0 order by due_at limit 1`),
        );
      }
      return done;
    };
    await world.work();
    await world.work();
    expect(meanwhile).toEqual(["changed", { asked: null }]);
    expect((await world.jobs()).map(({ state }) => state)).toEqual(["succeeded", "succeeded"]);
  },
);
