import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { enqueueJob } from "../../lib/batch/enqueue-job.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { readJob } from "../../lib/command/job-shape.ts";
import { cancelMany } from "../../lib/job-control/cancel-many.ts";
import { Refusal } from "../../lib/refusal.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const job = (body: object = {}) =>
  readJob({ key: "one", target: { queue: "demo" }, ...body }, { newKey: () => "made" });
const deps = () => ({ sql: world.as.api, queue: world.queue, log: world.log });
let besides = 0;

/** Both ways to enqueue must have the same result. */
const ways: readonly [string, (body?: object) => Promise<string>][] = [
  ["alone", async (body) => (await enqueueJob(deps(), { ...job(body), caller })).change],
  [
    "in a batch",
    async (body) => {
      besides += 1;
      const other: Operation = { kind: "put", caller, ...job({ key: `beside-${besides}` }) };
      const [applied] = await applyOperations(deps(), [{ kind: "put", caller, ...job(body) }, other]);
      return applied?.change ?? "";
    },
  ],
];

const states = async () => (await world.jobs("one")).map(({ state, reason }) => [state, reason]);
const payloads = () => world.delivered.filter(({ key }) => key === "one").map(({ payload }) => payload);

describe.each(ways)("%s", (_way, enqueue) => {
  test("an enqueued job runs once, and its key is free again", async () => {
    expect(await enqueue({ payload: 1 })).toBe("created");
    await world.work();
    await world.clock.advance(second);
    expect(await enqueue({ payload: 2, ifExists: "refuse" })).toBe("changed");
    await world.work();
    expect(payloads()).toEqual([1, 2]);
  });

  test("an enqueue replaces a job that is due and has not started", async () => {
    await enqueue({ payload: 1 });
    await world.clock.advance(second);
    expect(await enqueue({ payload: 2 })).toBe("changed");
    await world.work();
    expect(payloads()).toEqual([2]);
    expect(await states()).toEqual([
      ["cancelled", "requested"],
      ["succeeded", null],
    ]);
  });

  test("an enqueue replaces a job that is to be retried", async () => {
    world.outcome = ({ payload }) => (payload === 1 ? failed("no") : done);
    await enqueue({ payload: 1, retry: { attempts: 5, base: "1m", max: "1m", backoff: "fixed" } });
    await world.work();
    await world.clock.advance(second);
    await enqueue({ payload: 2 });
    await world.work();
    await world.clock.advance(10 * minute);
    await world.tick();
    await world.work();
    expect(payloads()).toEqual([1, 2]);
  });

  test("a replaced job in a lane lets the next job of the lane run", async () => {
    const serial = { group: "g", serial: true };
    await enqueue({ payload: 1, ...serial });
    await world.clock.advance(second);
    const other = job({ key: "two", payload: "two", ...serial });
    await enqueueJob(deps(), { ...other, caller });
    await world.clock.advance(second);
    await enqueue({ payload: 2, ...serial });
    for (let passed = 0; passed < 3; passed++) {
      await world.work();
      await world.tick();
      await world.clock.advance(minute);
    }
    expect(world.delivered.map(({ payload }) => payload).filter((each) => each !== null)).toEqual(["two", 2]);
  });

  test("under a hold an enqueue replaces the waiting job or keeps it, and one job runs when the hold ends", async () => {
    await enqueue({ payload: 1 });
    await world.pause("one");
    await world.clock.advance(second);
    expect(await enqueue({ payload: 2, ifExists: "keep" })).toBe("unchanged");
    await enqueue({ payload: 3 });
    await world.clock.advance(minute);
    await world.resume("one");
    await world.tick();
    await world.work();
    expect(payloads()).toEqual([3]);
  });
});

describe("an enqueue for the instant of an existing job", () => {
  const instant = at(10 * second).toISOString();
  const beside: Operation = { kind: "put", caller, ...job({ key: "beside" }) };
  const batched = async (payload: number) => {
    const params: Operation = { kind: "put", caller, ...job({ at: instant, payload }) };
    const [applied] = await applyOperations(deps(), [params, beside]);
    return applied?.change === "refused" ? applied.refusal.message : applied?.change;
  };
  const alone = async (payload: number) => {
    const params = { ...job({ at: instant, payload }), caller };
    return enqueueJob(deps(), params).then(
      ({ change }) => change,
      (error) => (error instanceof Refusal ? error.message : Promise.reject(error)),
    );
  };

  test.each([
    ["alone", alone],
    ["in a batch", batched],
  ])(
    "an enqueue with another payload is refused once the job of its instant has run, and one with the same payload is that job (%s)",
    async (_way, enqueue) => {
      expect(await enqueue(1)).toBe("created");
      await world.clock.advance(10 * second);
      await world.work();
      await world.clock.advance(second);
      expect(await enqueue(2)).toMatch(/^The job \S+ of this instant is succeeded: enqueue a further job/);
      expect(await enqueue(1)).toBe("unchanged");
      await world.tick();
      await world.work();
      expect(payloads()).toEqual([1]);
    },
  );

  test("an enqueue with another payload replaces the payload of a job that has not started, and is refused while the job runs", async () => {
    await alone(1);
    await world.clock.advance(10 * second);
    expect(await alone(2)).toBe("changed");
    let meanwhile = "";
    world.outcome = async () => {
      meanwhile = await alone(3);
      return done;
    };
    await world.work();
    expect(meanwhile).toMatch(/is running: enqueue a further job/);
    expect(payloads()).toEqual([2]);
  });

  test("an enqueue with another payload is refused once the job of its instant is cancelled", async () => {
    await alone(1);
    await cancelMany(deps(), { filter: { key: "one" }, limit: 10, caller });
    expect(await alone(2)).toMatch(/is cancelled: enqueue a further job/);
  });
});

test("the last job that a batch enqueues under a key runs", async () => {
  const puts = [1, 2, 3].map(
    (payload): Operation => ({ kind: "put", caller, ...job({ payload, at: "in 5s" }) }),
  );
  const applied = await applyOperations(deps(), puts);
  expect(applied.map(({ change }) => change)).toEqual(["created", "changed", "changed"]);
  await world.clock.advance(10 * second);
  await world.tick();
  await world.work();
  expect(payloads()).toEqual([3]);
});
