import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { versionsOf } from "../../lib/history/versions.ts";
import { defineJob, type JobHandler } from "../../lib/job/define-job.ts";
import type { HandlerSchedules, ScheduleInput } from "../../lib/job/handler-context.ts";
import { again } from "../../lib/job/handler-results.ts";
import { connectThrough, notingFailures } from "../race/lines.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import { type HandlerWorld, handlerWorld } from "./handler-world.ts";

let world: HandlerWorld;
afterEach(() => world.stop());

const edits = (
  edit: (schedule: HandlerSchedules) => void,
  next?: () => ReturnType<typeof again>,
): JobHandler =>
  defineJob({
    name: "edits",
    payload: z.unknown(),
    run: async (_, { schedule }) => {
      edit(schedule);
      return next?.();
    },
  });

const taker = defineJob({ name: "taker", payload: z.strictObject({ id: z.int() }), run: async () => {} });

/** Runs a handler that edits, from the schedule `own`. */
async function ranFrom(body: object, ...handlers: JobHandler[]) {
  world = await handlerWorld(...handlers, taker);
  await world.put("own", { when: "in 10s", target: { handler: "edits" }, ...body });
  await world.clock.advance(10 * second);
  expect(await world.runDue()).toBe(0);
  const [job] = await world.jobs("own");
  return job;
}

async function liveKeys(): Promise<string[]> {
  const rows = await world.sql<{ key: string }[]>`
    select key from carillon.schedules where deleted_at is null order by key`;
  return rows.map(({ key }) => key);
}

const next: ScheduleInput = { when: "in 1h", target: { handler: "taker" }, payload: { id: 7 } };

describe("ctx.schedule", () => {
  test("ctx.schedule creates a schedule that runs, with the handler as its author", async () => {
    expect(
      await ranFrom(
        {},
        edits((schedule) => schedule.put("next", next)),
      ),
    ).toMatchObject({
      state: "succeeded",
      parcelId: null,
    });
    const { items } = await versionsOf(world.sql, { key: "next", limit: 1 });
    expect(items).toMatchObject([{ change: "created", by: "handler:edits" }]);
    await world.clock.advance(hour);
    await world.runDue();
    expect(await world.jobs("next")).toMatchObject([
      { state: "succeeded", occurrence: at(hour + 10 * second), startedAt: at(hour + 10 * second) },
    ]);
  });

  test.each(["datestyle = 'German'", "datestyle = 'SQL, DMY'", "array_nulls = off"])(
    "ctx.schedule makes the same edits after the handler's `set local %s`",
    async (setting) => {
      const settings = defineJob({
        name: "edits",
        payload: z.unknown(),
        run: async (_, { schedule, sql }) => {
          await sql.unsafe(`set local ${setting}`);
          schedule.put("next", { ...next, when: "every 10m" });
        },
      });
      expect(await ranFrom({}, settings)).toMatchObject({ state: "succeeded", error: null });
      const planned = await world.sql`
        select p.due_at as "dueAt" from carillon.plan p join carillon.schedules s on s.id = p.schedule_id where s.key = 'next'`;
      expect(planned).toEqual([{ dueAt: at(10 * minute + 10 * second) }]);
    },
  );

  test("ctx.schedule sends a job at once that is due within seconds of its edit", async () => {
    const soon: ScheduleInput = { ...next, when: "in 5s" };
    await ranFrom(
      {},
      edits((schedule) => schedule.put("soon", soon)),
    );
    expect(world.queue.messages).toMatchObject([{ queue: "slow", delaySeconds: 4 }]);
    await world.clock.advance(5 * second);
    await world.run();
    expect(await world.jobs("soon")).toMatchObject([{ state: "succeeded" }]);
  });

  test("ctx.schedule replaces and cancels, and cancelling a missing schedule counts as done", async () => {
    world = await handlerWorld(
      taker,
      edits((schedule) => {
        schedule.put("there", { ...next, when: "in 2h" });
        schedule.cancel("gone");
        schedule.cancel("never-was");
      }),
    );
    for (const key of ["there", "gone"]) await world.put(key, { when: "every 1h" });
    await world.put("own", { when: "in 10s", target: { handler: "edits" } });
    await world.clock.advance(10 * second);
    await world.runDue();
    expect(await liveKeys()).toEqual(["own", "there"]);
    const { items } = await versionsOf(world.sql, { key: "there", limit: 5 });
    expect(items.map(({ change }) => change)).toEqual(["replaced", "created"]);
  });

  test("ctx.schedule applies several edits of one key in their order", async () => {
    await ranFrom(
      {},
      edits((schedule) => {
        schedule.put("a", next);
        schedule.cancel("a");
        schedule.cancel("b");
        schedule.put("b", next);
        schedule.put("b", { ...next, when: "in 2h" });
      }),
    );
    expect(await liveKeys()).toEqual(["b", "own"]);
    const { items } = await versionsOf(world.sql, { key: "b", limit: 5 });
    expect(items.map(({ change }) => change)).toEqual(["replaced", "created"]);
  });

  test("ctx.schedule can cancel the schedule of the running job, which still succeeds", async () => {
    const job = await ranFrom(
      { when: "every 10s" },
      edits((schedule) => schedule.cancel("own")),
    );
    expect(job).toMatchObject({ state: "succeeded" });
    expect(await liveKeys()).toEqual([]);
    await world.clock.advance(minute);
    await world.runDue();
    expect((await world.jobs("own")).filter(({ state }) => state === "waiting")).toEqual([]);
  });

  test("ctx.schedule can replace the schedule of the running job", async () => {
    const own: ScheduleInput = { when: "in 30m", target: { handler: "edits" } };
    await ranFrom(
      {},
      edits((schedule) => schedule.put("own", own)),
    );
    await world.clock.advance(30 * minute);
    await world.runDue();
    expect(await world.jobs("own")).toMatchObject([
      { state: "succeeded", version: 1 },
      { state: "succeeded", version: 2, occurrence: at(30 * minute + 10 * second) },
    ]);
  });

  test("an edit of the job's own schedule overrides its recheck", async () => {
    const own: ScheduleInput = { when: "in 30m", target: { handler: "edits" } };
    const job = await ranFrom(
      {},
      edits(
        (schedule) => schedule.put("own", own),
        () => again("10m"),
      ),
    );
    expect(job).toMatchObject({ state: "succeeded", reason: "superseded" });
    expect((await world.jobs("own")).map(({ occurrence }) => occurrence)).toEqual([at(10 * second)]);
  });

  test("ctx.schedule edits other schedules together with a recheck", async () => {
    const recheck = edits(
      (schedule) => schedule.put("next", next),
      () => again("10m"),
    );
    await ranFrom({}, recheck);
    expect(await liveKeys()).toEqual(["next", "own"]);
    expect(await world.jobs("own")).toMatchObject([{ state: "succeeded" }, { state: "waiting" }]);
  });

  test("ctx.schedule changes nothing if the handler fails", async () => {
    const fails = edits((schedule) => {
      schedule.put("next", next);
      schedule.cancel("own");
      throw new Error("boom");
    });
    expect(await ranFrom({}, fails)).toMatchObject({ state: "waiting", error: "Error: boom" });
    expect(await liveKeys()).toEqual(["own"]);
  });

  test("ctx.schedule changes nothing if the job is cancelled meanwhile", async () => {
    let asked: Promise<unknown> | undefined;
    const handler = defineJob({
      name: "edits",
      payload: z.unknown(),
      run: async (_, { schedule }) => {
        schedule.put("next", next);
        asked = world.sql`update carillon.jobs set cancel_asked = true`.execute();
        await asked;
      },
    });
    expect(await ranFrom({}, handler)).toMatchObject({ state: "cancelled" });
    expect(await liveKeys()).toEqual(["own"]);
  });

  test("a new schedule of ctx.schedule comes under the holds of its group", async () => {
    const held: ScheduleInput = { ...next, when: "in 1m", group: "g", tags: ["t"] };
    world = await handlerWorld(
      taker,
      edits((schedule) => schedule.put("next", held)),
    );
    await world.sql`
      insert into carillon.shared_holds (scope, name, owner, since, author) values ('group', 'g', 'ann', carillon.clock(), 'ann')`;
    await world.put("own", { when: "in 10s", target: { handler: "edits" } });
    await world.clock.advance(10 * second);
    await world.runDue();
    expect(await world.sql`select owner from carillon.holds`).toEqual([{ owner: "ann" }]);
    await world.clock.advance(2 * minute);
    await world.runDue();
    expect(await world.jobs("next")).toEqual([]);
  });

  test("a hold that ctx.schedule sets has the reach of all keys", async () => {
    const paused: ScheduleInput = { ...next, paused: true };
    await ranFrom(
      {},
      edits((schedule) => schedule.put("next", paused)),
    );
    expect(await world.sql`select owner, reach from carillon.holds`).toEqual([
      { owner: "handler:edits", reach: "" },
    ]);
  });

  test.each<[string, (schedule: HandlerSchedules) => void, RegExp]>([
    ["a bad `when`", (s) => s.put("x", { ...next, when: "whenever" }), /whenever|when/],
    [
      "a bad field",
      (s) => s.put("x", { ...next, timezone: "Mars" }),
      /ctx\.schedule\.put\("x"\): .*timezone: /,
    ],
    ["a bad key", (s) => s.put("a/b", next), /ctx\.schedule\.put\("a\/b"\): the key /],
    ["a bad key to cancel", (s) => s.cancel(""), /ctx\.schedule\.cancel\(""\): the key /],
    [
      "an unknown handler",
      (s) => s.put("x", { ...next, target: { handler: "nobody" } }),
      /no handler nobody/,
    ],
    [
      "a payload that its handler does not accept",
      (s) => s.put("x", { ...next, payload: { id: "7" } }),
      /payload\.id: /,
    ],
    [
      "too many edits",
      (s) => {
        for (let n = 0; n < 101; n++) s.cancel(`k${n}`);
      },
      /at most 100 schedules/,
    ],
  ])("ctx.schedule refuses %s, and the job commits nothing", async (_, edit, error) => {
    const job = await ranFrom(
      {},
      edits((schedule) => {
        schedule.put("next", next);
        edit(schedule);
      }),
    );
    expect(job).toMatchObject({ state: "waiting", attempt: 1 });
    expect(job?.error).toMatch(error);
    expect(await liveKeys()).toEqual(["own"]);
  });

  test("ctx.schedule takes dates as JSON writes them, and ignores undefined members", async () => {
    const handler = edits((schedule) =>
      schedule.put("next", {
        ...next,
        payload: { id: 7, nothing: undefined },
        startsAt: undefined,
      }),
    );
    expect(await ranFrom({}, handler)).toMatchObject({ state: "succeeded" });
  });

  test("many handlers at once that edit each other's schedules in every order do not deadlock", async () => {
    const keys = Array.from({ length: 12 }, (_, n) => `k${n}`);
    let turn = 0;
    const rotating = edits((schedule) => {
      const from = turn++ % keys.length;
      for (const key of [...keys.slice(from), ...keys.slice(0, from)].slice(0, 8))
        if ((from + key.length) % 3 === 0) schedule.cancel(key);
        else
          schedule.put(key, { ...next, group: `g${from % 3}`, overlap: from % 2 === 0 ? "queue" : "allow" });
    });
    world = await handlerWorld(taker, rotating);
    for (const key of keys) await world.put(key, { when: "every 1h", overlap: "skip" });
    for (let n = 0; n < 30; n++)
      await world.put(`own${n}`, {
        when: `at ${at(10 * second).toISOString()}`,
        target: { handler: "edits" },
      });
    await world.clock.advance(10 * second);
    await world.tick();
    const failures: unknown[] = [];
    const transactions = connectThrough(world.databaseUrl, notingFailures(failures), { max: 8 });
    expect(await world.run({ transactions })).toBe(0);
    await transactions.end();
    const states = await world.sql`select distinct state, attempt, error from carillon.jobs j
      join carillon.schedules s on s.id = j.schedule_id where s.key like 'own%'`;
    expect(states).toEqual([{ state: "succeeded", attempt: 1, error: null }]);
    // An edit of a key that is just being created begins again; none is ever stuck.
    const passing = ["unique_violation", "failed_transaction"];
    expect(failures.filter((state) => !passing.includes(String(state)))).toEqual([]);
  });
});
