import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createSchedule } from "../../lib/edit/schedule-edits.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const occurrences = async (key?: string) => (await world.jobs(key)).map(({ occurrence }) => occurrence);
const plannedDue = async () =>
  (await world.sql`select due_at from carillon.plan order by 1`).map((row) => row["due_at"]);

describe("a schedule that is created", () => {
  test("a schedule created for seconds from now becomes a job and a message at once, and runs on time", async () => {
    await world.tick();
    await world.put("soon", { when: "in 5s" });
    expect(await world.jobs()).toMatchObject([{ dueAt: at(5 * second), state: "waiting" }]);
    expect(world.queue.messages).toMatchObject([{ delaySeconds: 4 }]);
    await world.clock.advance(4 * second);
    await world.work();
    expect(world.delivered).toMatchObject([{ key: "soon", at: at(5 * second).toISOString() }]);
  });

  test("a schedule created at the watermark becomes a job at once, and one a millisecond later a row of the plan", async () => {
    await world.tick();
    await world.put("at", { when: "at 2026-03-02T10:03:00" });
    await world.put("after", { when: "at 2026-03-02T10:03:00.001" });
    expect(await occurrences()).toEqual([at("10:03:00")]);
    expect(await plannedDue()).toEqual([at("10:03:00.001")]);
    await world.clock.advance(minute);
    await world.tick();
    expect(await occurrences()).toEqual([at("10:03:00"), at("10:03:00.001")]);
  });

  test("a schedule created at the instant at which a batch ended is planned, and the next batch fires it once", async () => {
    await world.tick();
    await world.put("first", { when: "at 2026-03-02T10:03:00" });
    await world.sql`update carillon.shards set watermark_schedule = 1`;
    await world.put("second", { when: "at 2026-03-02T10:03:00" });
    expect(await occurrences("second")).toEqual([]);
    await world.tick();
    expect(await occurrences("second")).toEqual([at("10:03:00")]);
  });

  test.each(["every 40s", "* * * * *"])(
    "a new schedule of %s makes all jobs up to the watermark, and plans the first occurrence beyond it",
    async (when) => {
      await world.tick();
      await world.clock.setNow(at("10:01:30"));
      await world.put("often", { when });
      const expected = when === "* * * * *" ? ["10:02:00", "10:03:00"] : ["10:02:10", "10:02:50"];
      expect(await occurrences()).toEqual(expected.map(at));
      expect(await plannedDue()).toEqual([at(when === "* * * * *" ? "10:04:00" : "10:03:30")]);
      await world.tick();
      expect(await occurrences()).toEqual(
        [...expected, ...(when === "* * * * *" ? ["10:04:00"] : ["10:03:30", "10:04:10"])].map(at),
      );
    },
  );

  test("a schedule created for up to a minute ago runs at once, and an earlier one is refused and leaves no row", async () => {
    await world.tick();
    await world.put("now", { when: "at 2026-03-02T10:00:00" });
    await world.put("past", { when: "at 2026-03-02T09:59:00" });
    await world.work();
    expect(world.delivered.map(({ key }) => key).sort()).toEqual(["now", "past"]);
    await expect(world.put("over", { when: "at 2026-03-02T09:58:59.999" })).rejects.toMatchObject({
      kind: "invalid",
      faults: [{ path: "when" }],
    });
    expect(await world.sql`select from carillon.schedules where key = 'over'`).toHaveLength(0);
    expect(await world.sql`select from carillon.audit`).toHaveLength(2);
  });

  test("a schedule created while no tick has run for days waits in the plan until the next tick, and then runs", async () => {
    await world.clock.advance(6 * day);
    await world.put("soon", { when: "in 5s" });
    await world.put("often", { when: "every 1m" });
    await world.tick();
    await world.clock.advance(minute);
    await world.work();
    expect(world.delivered.map(({ key }) => key).sort()).toEqual(["often", "soon"]);
  });

  test("concurrent creates under one key create one schedule", async () => {
    const answers = await Promise.all(
      [1, 2, 3, 4].map((payload) => world.put("same", { when: "in 1m", payload })),
    );
    expect(answers.map(({ change }) => change).sort()).toEqual(["changed", "changed", "changed", "created"]);
    expect(answers.map(({ schedule }) => schedule.version).sort()).toEqual([1, 2, 3, 4]);
    expect(await world.sql`select from carillon.schedules`).toHaveLength(1);
  });

  test("a POST under a taken key is a conflict, also for two at once", async () => {
    const create = () =>
      createSchedule(world, {
        key: "mine",
        body: parseScheduleBody({ when: "in 1h", target: { queue: "q" } }),
        caller: { name: "ann" },
      });
    const answers = await Promise.allSettled([create(), create()]);
    expect(answers.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await expect(create()).rejects.toMatchObject({ kind: "conflict" });
  });

  test("a create is in the audit with actor, time, action and version", async () => {
    await world.put("mine", { when: "in 1h" }, "bob");
    expect(await world.sql`select at, actor, action, subject, version from carillon.audit`).toEqual([
      { at: at(0), actor: "bob", action: "schedule.created", subject: "mine", version: 1 },
    ]);
  });
});
