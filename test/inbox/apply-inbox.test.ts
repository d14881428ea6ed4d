import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Acceptance } from "../../lib/command/acceptance.ts";
import type { Sql, Tx } from "../../lib/db/connect.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { applyInbox } from "../../lib/inbox/apply-inbox.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import { acceptance, type InboxWorld, inboxWorld } from "./inbox-world.ts";

let world: InboxWorld;
beforeAll(async () => {
  world = await inboxWorld();
  await world.tick();
});
afterAll(() => world.stop());

const target = { queue: "demo" };
const put = async (tx: Tx, body: object): Promise<string> => {
  const [row] = await tx<
    { id: string }[]
  >`select carillon.put_schedule(${JSON.stringify(body)}::text::jsonb) as id`;
  return row?.id ?? "";
};
const read = (key: string) => readSchedule(world.sql, key);
const noBounds = { most: 10_000, timeIsUp: () => false };
const deps = (sql: Sql, accept: Acceptance = acceptance) => ({
  sql,
  queue: world.queue,
  log: world.log,
  acceptance: accept,
});

describe("a command in its caller's transaction", () => {
  test("a command whose transaction is rolled back has no effect", async () => {
    const rolledBack = world.caller.sql.begin(async (tx) => {
      await put(tx, { key: "rolled-back", when: "in 1h", target });
      throw new Error("The order is not placed after all.");
    });
    await expect(rolledBack).rejects.toThrow("not placed");
    expect(await world.waiting()).toBe(0);
    await world.tick();
    expect(await read("rolled-back")).toBeNull();
  });

  test("a committed command is applied by the next tick, which also fires the schedule", async () => {
    const id = await put(world.caller.sql, { key: "committed", when: "in 4m", target, payload: { n: 1 } });
    expect(await read("committed")).toBeNull();
    await world.clock.advance(minute);
    await world.tick();
    const schedule = await read("committed");
    expect(schedule).toMatchObject({ version: 1, state: "active", createdBy: `sql:${world.caller.role}` });
    // Counted from the call, not from the tick.
    expect(await world.jobs("committed")).toMatchObject([{ dueAt: at(4 * minute) }]);
    expect(await world.waiting()).toBe(0);
    const [told] = await world.sql`
      select actor, origin from carillon.audit where subject = 'committed'`;
    expect(told).toEqual({
      actor: `sql:${world.caller.role}`,
      origin: { via: "sql", request: id, at: expect.any(String) },
    });
  });

  test("each of two sessions sees its own commands, and a command that commits late is applied, although its number is smaller", async () => {
    const { sql } = world.caller;
    const called = Promise.withResolvers<void>();
    const commit = Promise.withResolvers<void>();
    const early = sql.begin(async (tx) => {
      await put(tx, { key: "late-commit", when: "every 1h", target });
      called.resolve();
      await commit.promise;
    });
    await called.promise;
    await put(sql, { key: "early-commit", when: "every 1h", target });
    await world.tick();
    expect(await read("early-commit")).not.toBeNull();
    expect(await read("late-commit")).toBeNull();
    commit.resolve();
    await early;
    await world.tick();
    expect(await read("late-commit")).not.toBeNull();
  });

  test("commands of a key are applied in their order, also a put and a delete of one transaction", async () => {
    await world.caller.sql.begin(async (tx) => {
      await put(tx, { key: "gone", when: "every 1h", target });
      await tx`select carillon.delete_schedule('gone')`;
      await tx`select carillon.delete_schedule('back')`;
      await put(tx, { key: "back", when: "every 1h", target });
    });
    await world.tick();
    expect(await read("gone")).toBeNull();
    expect(await read("back")).toMatchObject({ version: 1 });
    // Deleting a missing schedule counts as done.
    expect(await world.refused()).toEqual([]);
  });
});

describe("each verb", () => {
  test("patch, pause and resume act in the caller's own name", async () => {
    const { sql, role } = world.caller;
    await put(sql, { key: "edited", when: "every 1h", target, payload: 1 });
    await sql`select carillon.patch_schedule('{"key": "edited", "payload": 2}')`;
    await sql`select carillon.pause_schedule('edited', 'moving house', '2027-01-01T00:00:00+02'::timestamptz)`;
    await world.tick();
    expect(await read("edited")).toMatchObject({ body: { payload: 2 }, state: "paused" });
    const [hold] = await world.sql`
      select h.owner, h.reason, h.until, h.reach from carillon.holds h join carillon.schedules s on s.id = h.schedule_id where s.key = 'edited'`;
    expect(hold).toEqual({
      owner: `sql:${role}`,
      reason: "moving house",
      until: new Date("2026-12-31T22:00:00Z"),
      reach: "",
    });
    await sql`select carillon.resume_schedule('edited')`;
    await world.tick();
    expect(await read("edited")).toMatchObject({ state: "active" });
  });

  test("a patch of a relative when counts from the call, and a time in the past runs at once", async () => {
    const { sql } = world.caller;
    await put(sql, { key: "counted", when: "in 2h", target });
    await put(sql, { key: "counted-late", when: "in 2h", target });
    await sql`select carillon.patch_schedule('{"key": "counted", "when": "in 10m"}')`;
    await sql`select carillon.patch_schedule('{"key": "counted-late", "when": "in 10s"}')`;
    const called = world.clock.now().getTime();
    await world.clock.advance(5 * minute);
    await world.tick();
    expect(await read("counted")).toMatchObject({ nextAt: new Date(called + 10 * minute) });
    expect(await world.jobs("counted-late")).toMatchObject([{ dueAt: world.clock.now() }]);
  });

  test("a job replaces a waiting job of its key, unless `ifExists` is keep", async () => {
    const { sql } = world.caller;
    for (const job of [{ payload: 1 }, { payload: 2 }, { payload: 3, ifExists: "keep" }])
      await sql`select carillon.enqueue_job(${JSON.stringify({ key: "only", target, at: "in 20m", ...job })}::text::jsonb)`;
    await world.tick();
    expect(await read("only")).toMatchObject({ body: { payload: 2 } });
  });

  test("a job without a lasting schedule runs once, and at once if its time is past", async () => {
    const { sql } = world.caller;
    await sql`select carillon.enqueue_job('{"target": {"queue": "demo"}, "at": "in 10s", "key": "job-1", "payload": [1]}')`;
    await sql`select carillon.enqueue_job('{"target": {"queue": "demo"}}')`;
    await world.clock.advance(30 * second);
    await world.tick();
    expect(await world.jobs("job-1")).toMatchObject([{ state: "waiting", dueAt: world.clock.now() }]);
    await world.work();
    expect(world.delivered.find(({ key }) => key === "job-1")).toMatchObject({ payload: [1] });
    const [other] = await world.sql`
      select key from carillon.schedules where created_by like 'sql:%' and key ~ '^job:[0-9a-f-]{36}$'`;
    expect(other).toBeDefined();
  });

  test("a command whose condition fails is refused with the reason, and one whose condition holds is applied", async () => {
    const { sql } = world.caller;
    await put(sql, { key: "once-only", when: "every 1h", target });
    await sql`select carillon.send_command('{"put": {"key": "once-only", "when": "every 2h", "target": {"queue": "demo"}}, "ifNoneMatch": true}')`;
    await sql`select carillon.send_command('{"patch": {"key": "once-only", "payload": 7}, "ifMatch": 1}')`;
    await world.tick();
    expect(await read("once-only")).toMatchObject({ version: 2, body: { when: "every 1h", payload: 7 } });
    expect(await world.refused()).toMatchObject([
      { key: "once-only", problem: expect.stringContaining("exists") },
    ]);
    await world.sql`delete from carillon.inbox_refusals`;
  });
});

describe("commands that cannot be applied", () => {
  test("a refusal shows every fault and no credential, and holds up no other command", async () => {
    const { sql } = world.caller;
    const bad = await put(sql, {
      key: "bad",
      when: "every blue moon",
      target: {
        webhook: {
          url: "https://ann:hunter2@example.com/x",
          secret: "whsec_c2VjcmV0",
          headers: { Authorization: "Bearer abc", "X-Trace": "1" },
        },
      },
      payload: { secret: "is the payload's own" },
      colour: "blue",
    });
    await put(sql, { key: "good", when: "every 1h", target });
    const lost = await put(sql, { key: "lost", when: "every 1h", target: { handler: "nobody" } });
    await world.tick();
    expect(await read("good")).not.toBeNull();
    const errors = await sql`select * from carillon.inbox_errors order by id`;
    expect(errors.map(({ id, key, caller }) => [id, key, caller])).toEqual([
      [bad, "bad", world.caller.role],
      [lost, "lost", world.caller.role],
    ]);
    const [{ command, faults, problem } = {}, unknownHandler] = errors;
    expect(problem).toMatch(/not understood/);
    expect(faults.map(({ path }: { path: string }) => path)).toEqual(
      expect.arrayContaining(["put.when", "put.colour"]),
    );
    expect(command).toEqual({
      put: {
        key: "bad",
        when: "every blue moon",
        target: {
          webhook: {
            url: "https://***@example.com/x",
            secret: "***",
            headers: { Authorization: "***", "X-Trace": "1" },
          },
        },
        payload: { secret: "is the payload's own" },
        colour: "blue",
      },
    });
    expect(unknownHandler?.["faults"]).toMatchObject([{ path: "put.target.handler" }]);
    await world.sql`delete from carillon.inbox_refusals`;
  });

  test("a refusal is kept for fifteen days", async () => {
    await put(world.caller.sql, { key: "faulty", when: "never", target });
    await world.tick();
    await world.clock.advance(15 * 24 * hour - minute);
    await world.tick();
    expect(await world.refused()).toHaveLength(1);
    await world.clock.advance(2 * minute);
    await world.tick();
    expect(await world.refused()).toEqual([]);
  });

  /** Fails on schedules with this description, as a fault of Carillon would. */
  const failsOn = (text: string): Acceptance => ({
    ...acceptance,
    body: (body, key) => {
      if (body.description === text) throw new TypeError("Carillon has a mistake.");
      acceptance.body(body, key);
    },
  });

  test("a command that Carillon itself fails on stays, with later commands of its key, and the others are applied", async () => {
    const { sql } = world.caller;
    await put(sql, { key: "poisoned", when: "every 1h", target });
    const poison = await put(sql, { key: "poisoned", when: "every 1h", target, description: "poison" });
    const after = await put(sql, { key: "poisoned", when: "every 3h", target });
    await put(sql, { key: "beside", when: "every 1h", target });
    world.more.tick = { acceptance: failsOn("poison") };
    await world.tick();
    expect(await read("beside")).not.toBeNull();
    expect(await read("poisoned")).toMatchObject({ version: 1 });
    expect((await world.sql`select id from carillon.inbox order by id`).map(({ id }) => id)).toEqual([
      poison,
      after,
    ]);
    expect(world.log.lines).toContainEqual(
      expect.objectContaining({
        event: "quarantine.set-aside",
        fields: expect.objectContaining({ consumer: "inbox", item: poison }),
      }),
    );
    world.more.tick = { acceptance };
    await world.clock.advance(minute);
    await world.tick();
    expect(await read("poisoned")).toMatchObject({ version: 3, body: { when: "every 3h" } });
  });

  test("when one of many commands fails, the others are applied all the same", async () => {
    const { sql } = world.caller;
    await sql.begin(async (tx) => {
      for (let n = 0; n < 20; n++)
        await tx`select carillon.put_schedule(jsonb_build_object('key', ${`half-${n}`}::text, 'when', 'every 1h', 'target', '{"queue": "demo"}'::jsonb))`;
    });
    const failing: Acceptance = {
      ...acceptance,
      patched: () => {
        throw new TypeError("Carillon has a mistake.");
      },
    };
    await sql`select carillon.patch_schedule('{"key": "half-0", "payload": 1}')`;
    const result = await applyInbox(deps(world.as.tick, failing), noBounds);
    expect(result).toMatchObject({ applied: 20, refused: 0, failed: 1, more: false });
    expect(await world.waiting()).toBe(1);
    await world.clock.advance(minute);
    await world.tick();
    expect(await read("half-0")).toMatchObject({ version: 2 });
  });
});

describe("several runs of the inbox at once", () => {
  test("several runs of the inbox at once apply each command once", async () => {
    const { sql } = world.caller;
    // A repeated put of `in …` makes a new version: a command that is applied twice would make a
    // third.
    const keys = Array.from({ length: 50 }, (_, n) => `twice-${n}`);
    for (const key of keys) await world.put(key, { when: "in 2h" });
    for (const key of keys) await put(sql, { key, when: "in 3h", target });
    const results = await Promise.all(
      [world.as.tick, world.as.tick, world.as.api].map((each) => applyInbox(deps(each), noBounds)),
    );
    expect(results.reduce((sum, { applied }) => sum + applied, 0)).toBe(keys.length);
    expect(await world.waiting()).toBe(0);
    const [row] = await world.sql`
      select count(*)::int as n, max(version) as version from carillon.schedules where key like 'twice-%'`;
    expect(row).toEqual({ n: keys.length, version: 2 });
  });

  test("a run of the inbox stops at its limits and reports that there are more commands", async () => {
    const { sql } = world.caller;
    for (let n = 0; n < 5; n++) await put(sql, { key: `bound-${n}`, when: "every 1h", target });
    expect(await applyInbox(deps(world.as.api), { ...noBounds, most: 3 })).toMatchObject({
      applied: 3,
      more: true,
    });
    expect(await applyInbox(deps(world.as.api), { ...noBounds, timeIsUp: () => true })).toMatchObject({
      applied: 0,
      more: true,
    });
    expect(await applyInbox(deps(world.as.api), noBounds)).toMatchObject({ applied: 2, more: false });
  });
});

describe("the views of a caller", () => {
  test("the views of a caller show its own commands alone", async () => {
    const { sql } = world.caller;
    await put(sql, { key: "mine", when: "every 1h", target });
    await world.sql`select carillon.put_schedule('{"key": "the-owners", "when": "every 1h", "target": {"queue": "demo"}}')`;
    expect(await sql`select * from carillon.inbox_status`).toEqual([
      { waiting: "1", oldest_at: world.clock.now() },
    ]);
    await world.tick();
    expect(await sql`select * from carillon.inbox_status`).toEqual([{ waiting: "0", oldest_at: null }]);
  });
});
