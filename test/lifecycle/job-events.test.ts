import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { failed, thrown } from "../../lib/target/delivery.ts";
import { at, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { type BusWorld, busWorld } from "./bus-world.ts";

let world: BusWorld;

async function withWorld(options: Parameters<typeof busWorld>[0] = {}): Promise<void> {
  await world.stop();
  world = await busWorld(options);
}

beforeEach(async () => {
  world = await busWorld();
});

afterEach(async () => {
  await world.stop();
});

const once = (key: string, more: object = {}) =>
  world.put(key, { when: "in 1s", retry: { attempts: 1 }, ...more });

async function runDue(): Promise<void> {
  await world.tick();
  await world.clock.advance(2 * second);
  await world.work();
}

const types = async () => (await world.arrived()).map((event) => event["detail-type"]);

describe("a dead job", () => {
  test("the worker reports a dead job to the bus at once, without its payload", async () => {
    world.tellAtOnce();
    world.outcome = () => thrown(new TypeError("no such order"));
    await once("orders/17", { group: "orders", payload: { secret: "card number" } });
    await runDue();

    const [event] = await world.arrived();
    expect(event).toMatchObject({
      bus: "default",
      source: "carillon",
      "detail-type": "carillon.job.dead",
      detail: {
        specversion: "1.0",
        type: "carillon.job.dead",
        source: "carillon",
        subject: "orders/17",
        time: at(2 * second).toISOString(),
        schedulekey: "orders/17",
        data: {
          job: {
            kind: "cadence",
            key: "orders/17",
            group: "orders",
            version: 1,
            occurrence: at(second).toISOString(),
            dueAt: at(second).toISOString(),
            attempt: 1,
            reason: "attempts",
            error: "TypeError: no such order",
            errorClass: "TypeError",
          },
        },
      },
    });
    expect(event?.detail.id).toMatch(/^\d+-\d+-c0-dead-1$/);
    expect(JSON.stringify(event)).not.toContain("card number");
    expect(await world.outbox()).toEqual([]);
  });

  test("a tick reports a dead job if its worker died before it could", async () => {
    world.outcome = () => failed("no");
    await once("a");
    await runDue();
    expect(await world.arrived()).toEqual([]);
    await world.tick();
    expect(await types()).toEqual(["carillon.job.dead"]);
    await world.tick();
    expect(await types()).toHaveLength(1);
  });

  test("a dead job is reported with its reason, also if it was retried by then", async () => {
    world.outcome = () => failed("no");
    await once("a");
    await runDue();
    await world.sql`update carillon.jobs set state = 'cancelled', reason = 'requested'`;
    await world.tick();
    expect(await world.arrived()).toMatchObject([{ detail: { data: { job: { reason: "attempts" } } } }]);
  });

  test("a dead job is not reported if the event is switched off, and leaves no event in the outbox", async () => {
    await withWorld({ notify: [] });
    world.tellAtOnce();
    world.outcome = () => failed("no");
    await once("a");
    await runDue();
    await world.tick();
    expect(await world.arrived()).toEqual([]);
    expect(await world.outbox()).toEqual([]);
  });
});

describe("the default events", () => {
  test("by default, jobs that succeed or are retried are not reported, and no event is written for them", async () => {
    world.outcome = (job) => (job.key === "good" ? { kind: "done" } : failed("no"));
    await once("good");
    await once("bad", { retry: { attempts: 2 } });
    await runDue();
    expect(await world.outbox()).toEqual([]);
  });
});

describe("all events", () => {
  const all = ["started", "succeeded", "failed", "dead", "skipped", "missed"] as const;

  test("the bus receives the start and the end of each attempt, with the production rights of each function", async () => {
    await withWorld({ notify: all, roles: functionRoles });
    world.tellAtOnce();
    world.outcome = (job) => (job.attempt === 1 ? { kind: "done" } : failed("not yet"));
    await once("a", { retry: { attempts: 3, base: "1s", jitter: "none" } });
    await runDue();
    await world.clock.advance(10 * second);
    await world.work();

    const told = (await world.arrived()).map(({ detail }) => detail.id.replace(/^\d+-\d+-c0-/, ""));
    // A bus keeps no order: the events' times give it.
    expect(told.toSorted()).toEqual(["failed-1", "started-1", "started-2", "succeeded-2"]);
    expect(await world.outbox()).toEqual([]);
    expect(world.log.lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("a failed attempt is reported with its own error, whatever the job's state by then", async () => {
    await withWorld({ notify: ["failed"] });
    world.outcome = (job) => (job.attempt === 1 ? { kind: "done" } : thrown(new RangeError("first")));
    await once("a", { retry: { attempts: 3, base: "1s", jitter: "none" } });
    await runDue();
    await world.clock.advance(10 * second);
    await world.work();
    await world.tick();
    expect(await world.arrived()).toMatchObject([
      { detail: { data: { job: { attempt: 1, error: "RangeError: first", errorClass: "RangeError" } } } },
    ]);
  });

  test("the attempt of a job whose worker died is reported as failed", async () => {
    await withWorld({ notify: ["failed"] });
    world.tellAtOnce();
    await once("a");
    await world.put("b", { when: "in 1s", target: { handler: "greet" } });
    await world.tick();
    await world.clock.advance(2 * second);
    const messages = [...world.queue.messages];
    world.outcome = async () => {
      throw new Error("the process is gone");
    };
    await world.work();
    await world.clock.advance(2 * minute);
    world.outcome = () => ({ kind: "done" });
    expect(messages.length).toBeGreaterThan(0);
    await world.tick();
    await world.work();
    await world.clock.advance(minute);
    await world.tick();
    const failures = (await world.arrived()).map(({ detail }) => detail.data["job"]);
    expect(failures).toContainEqual(expect.objectContaining({ errorClass: "LeaseEnded", key: "b" }));
  });
});
