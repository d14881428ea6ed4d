import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { readJob } from "../../lib/job/read-job.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import type { Json } from "../../lib/schedule/shape/json.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

function fire(key: string, payload?: Json, sql = world.sql) {
  return fireNow({ sql, queue: world.queue }, { key, payload, caller: { name: "ann" } });
}

describe("a schedule that is fired", () => {
  test("a fired schedule gets a job beside its cadence that runs at once, and is otherwise unchanged", async () => {
    await world.put("daily", { when: "every 1d", payload: { a: 1 } });
    const before = await readSchedule(world.sql, "daily");
    const job = await fire("daily");
    expect(job).toMatchObject({
      id: `${before?.id}-${at(0).getTime()}-m0`,
      kind: "manual",
      key: "daily",
      occurrence: at(0),
      dueAt: at(0),
      state: "waiting",
      attempt: 0,
      version: 1,
      payload: { a: 1 },
      attempts: [],
    });
    await world.work();
    expect(world.delivered).toMatchObject([{ key: "daily", at: at(0).toISOString(), payload: { a: 1 } }]);
    expect(await readJob(world.sql, job.id)).toMatchObject({ state: "succeeded", latenessMs: 0 });
    const { lastJob, ...after } = (await readSchedule(world.sql, "daily")) ?? {};
    expect(lastJob).toMatchObject({ id: job.id });
    expect(after).toEqual({ ...before, lastJob: undefined });
  });

  test.each([[{ b: 2 }], [null], [0], [""], [[]]])(
    "a fire with the payload %j replaces the payload of the schedule",
    async (payload) => {
      await world.put("daily", { when: "every 1d", payload: "the schedule's" });
      const job = await fire("daily", payload);
      expect(job.payload).toEqual(payload);
      await world.work();
      expect(world.delivered).toMatchObject([{ payload }]);
    },
  );

  test("a fired schedule runs at once under a hold, and is retried", async () => {
    await world.put("daily", { when: "every 1d", retry: { attempts: 2, base: "10s", max: "10s" } });
    await world.pause("daily");
    expect(await fire("daily")).toMatchObject({ state: "waiting", readyAt: at(0) });
    world.outcome = () => failed("no");
    await world.work();
    await world.clock.advance(10 * second);
    world.outcome = () => ({ kind: "done" });
    await world.work();
    expect(world.delivered.map((each) => each.attempt)).toEqual([1, 2]);
    expect(await world.jobs()).toMatchObject([{ state: "succeeded" }]);
  });

  test("a fired schedule that has ended runs once more", async () => {
    await world.put("once", { when: "in 10s" });
    await world.clock.advance(10 * second);
    await world.work();
    await world.clock.advance(day);
    await fire("once");
    await world.work();
    expect(world.delivered).toHaveLength(2);
  });

  test("a schedule fired at the instant of an occurrence has both jobs", async () => {
    await world.put("minutes", { when: "every 1m" });
    await world.tick();
    await world.clock.setNow(at(minute));
    await fire("minutes");
    await world.work();
    expect(world.delivered).toHaveLength(2);
  });

  test("a fire attaches the partition for the day of its job if that is missing", async () => {
    await world.put("daily", { when: "every 1d" });
    await world.clock.advance(20 * day);
    await fire("daily");
    await world.work();
    expect(world.delivered).toHaveLength(1);
  });

  test("a fire is in the audit with its job", async () => {
    await world.put("daily", { when: "every 1d" });
    const job = await fire("daily");
    expect(
      await world.sql`select actor, subject, version, detail from carillon.audit where action = 'schedule.fired'`,
    ).toEqual([{ actor: "ann", subject: "daily", version: 1, detail: { jobs: 1, job: job.id } }]);
  });
});

describe("firing at once", () => {
  test("fifty fires at the same millisecond make fifty jobs with different numbers", async () => {
    await world.put("daily", { when: "every 1d" });
    const fired = await Promise.all(Array.from({ length: 50 }, (_, index) => fire("daily", index)));
    expect(new Set(fired.map(({ id }) => id)).size).toBe(50);
    expect(fired.map(({ n }) => n).sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    await world.work();
    expect(world.delivered.map(({ payload }) => Number(payload)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 50 }, (_, n) => n),
    );
  });

  test("a concurrent fire starts no job once the delete is acknowledged, in either order", async () => {
    const other = connect({ DATABASE_URL: world.databaseUrl });
    try {
      for (let round = 0; round < 12; round++) {
        await world.put("daily", { when: "every 1d" });
        const removing = world.remove("daily");
        const fired = await Promise.allSettled([fire("daily", null, other), fire("daily")]);
        await removing;
        await world.work();
        for (const each of fired) {
          if (each.status === "fulfilled") {
            expect(await readJob(world.sql, each.value.id)).toMatchObject({
              state: "cancelled",
              reason: "deleted",
            });
          } else expect(each.reason).toMatchObject({ kind: "conflict" });
        }
      }
    } finally {
      await other.end();
    }
    expect(world.delivered).toEqual([]);
  });
});

describe("a refused fire", () => {
  test("a fire of an unknown or deleted schedule is refused and makes no job", async () => {
    await expect(fire("nobody")).rejects.toMatchObject({ kind: "missing" });
    await world.put("gone", { when: "every 1d" });
    await world.remove("gone");
    await expect(fire("gone")).rejects.toMatchObject({ kind: "conflict" });
    expect(await world.jobs()).toEqual([]);
    await world.put("gone", { when: "every 1d" });
    expect(await fire("gone")).toMatchObject({ kind: "manual" });
  });
});

describe("a fired job", () => {
  test("a fired job that was never sent is found by the sweep", async () => {
    await world.put("daily", { when: "every 1d" });
    world.queue.outage = new Error("away");
    await fire("daily");
    world.queue.outage = null;
    await world.clock.advance(20 * second);
    await world.tick();
    await world.work();
    expect(world.delivered).toHaveLength(1);
  });
});
