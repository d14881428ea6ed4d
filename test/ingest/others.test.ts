import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { changeMany } from "../../lib/batch/bulk-change.ts";
import { editOnce } from "../../lib/edit/edit-transaction.ts";
import { deleteSteps, putSteps } from "../../lib/edit/schedule-edits.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { applyInbox } from "../../lib/inbox/apply-inbox.ts";
import { makeAtOnce } from "../../lib/plan/maker.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { minute, second } from "../support/instants.ts";
import { waitingLocks } from "../support/waiting-locks.ts";
import { type IngestWorld, ingestWorld } from "./ingest-world.ts";

let world: IngestWorld;
let keys = 0;
let key: string;
beforeAll(async () => {
  world = await ingestWorld();
});
afterAll(() => world.stop());
beforeEach(() => {
  keys += 1;
  key = `key-${keys}`;
});

const target = { queue: "demo" };
const now = () => world.carillon.clock.now();
const pass = (ms: number) => world.carillon.clock.advance(ms);
const read = () => readSchedule(world.carillon.sql, key);
const put = (payload: unknown = null) => ({ put: { key, when: "every 1h", target, payload } });
const ingest = (command: object) => world.ingest([{ body: { at: now(), ...command } }]);

/** Writes an edit, and commits it only after `meanwhile` has begun to wait for it. */
async function whileEdited(
  edit: Parameters<typeof editOnce>[2],
  meanwhile: () => Promise<unknown>,
): Promise<unknown> {
  const { sql } = world.carillon;
  const written = Promise.withResolvers<void>();
  const commit = Promise.withResolvers<void>();
  const edited = sql.begin(async (tx) => {
    await editOnce(tx, { key, caller: { name: "ann" } }, edit, {
      labels: [],
      teams: new Set(),
      maker: makeAtOnce,
    });
    written.resolve();
    await commit.promise;
  });
  await written.promise;
  const waiting = meanwhile();
  await expect.poll(() => waitingLocks(sql), { timeout: 5_000 }).toBeGreaterThan(0);
  commit.resolve();
  await edited;
  return waiting;
}

describe("an older command that waits for a newer change over HTTP", () => {
  const body = parseScheduleBody({ when: "every 2h", target, payload: "newer, over HTTP" });

  test("an older command does not undo an edit over HTTP", async () => {
    await world.carillon.put(key, { when: "every 1h", target, payload: 0 });
    await pass(minute);
    const at = now();
    await pass(minute);
    const edit = putSteps({ key, body, caller: { name: "ann" } });
    expect(await whileEdited(edit, () => ingest({ at, ...put("older, by the queue") }))).toEqual([]);
    expect(await read()).toMatchObject({ version: 2, body: { payload: "newer, over HTTP" } });
  });

  test("an older command does not recreate a schedule that was deleted over HTTP", async () => {
    await world.carillon.put(key, { when: "every 1h", target });
    await pass(minute);
    const at = now();
    await pass(minute);
    expect(await whileEdited(deleteSteps, () => ingest({ at, ...put("older, by the queue") }))).toEqual([]);
    expect(await read()).toBeNull();
  });

  test("an older put does not undo a schedule that was created over HTTP", async () => {
    const at = now();
    await pass(minute);
    const edit = putSteps({ key, body, caller: { name: "ann" } });
    expect(await whileEdited(edit, () => ingest({ at, ...put("older, by the queue") }))).toEqual([]);
    expect(await read()).toMatchObject({ version: 1, body: { payload: "newer, over HTTP" } });
  });
});

function releaseAll(owner: string): Promise<unknown> {
  const { sql, queue, log } = world.carillon;
  const change = { verb: "resume", owner } as const;
  return changeMany({ sql, queue, log }, { filter: { prefix: key }, change, caller: { name: "ann" } });
}

describe("a hold of the queue", () => {
  test("a hold of the queue does not come back with the next put after its schedule was deleted over HTTP", async () => {
    await ingest(put());
    await pass(10 * second);
    await ingest({ pause: { key } });
    expect((await read())?.state).toBe("paused");
    await pass(10 * second);
    await world.carillon.remove(key);
    await pass(10 * second);
    await ingest(put());
    expect((await read())?.state).toBe("active");
  });

  test.each([
    ["one resume", () => world.carillon.resume(key, "queue:ingest")],
    ["a bulk resume", () => releaseAll("queue:ingest")],
  ])(
    "a hold of the queue does not come back after another caller has released it by %s",
    async (_, release) => {
      await ingest(put());
      await pass(second);
      const between = now();
      await pass(second);
      await ingest({ pause: { key } });
      await pass(second);
      await release();
      await pass(second);
      // A delete from before the hold, which deletes the schedule and leaves the hold to the next
      // put.
      await ingest({ at: between, delete: key });
      expect(await read()).toBeNull();
      await pass(second);
      await ingest(put());
      expect((await read())?.state).toBe("active");
    },
  );

  test("a hold of the queue does not come back after its schedule has ended by itself", async () => {
    await world.carillon.tick();
    const once = () => ({ put: { key, when: "in 30s", target, deleteOnEnd: true } });
    await ingest(once());
    await pass(second);
    await ingest({ pause: { key, until: new Date(now().getTime() + 5 * second) } });
    for (let n = 0; n < 6; n += 1) {
      await pass(30 * second);
      await world.carillon.tick();
      await world.carillon.work();
    }
    expect(await read()).toBeNull();
    expect(await ingest(once())).toEqual([]);
    expect((await read())?.state).toBe("active");
  });
});

describe("a call in SQL", () => {
  const call = (name: "put_schedule" | "patch_schedule", body: object) => world.carillon.sql`
    select ${world.carillon.sql.unsafe(`carillon.${name}`)}(${JSON.stringify(body)}::text::jsonb)`;
  const remove = () => world.carillon.sql`select carillon.delete_schedule(${key})`;
  const applied = async () => {
    const { sql, log } = world.carillon;
    const { queue, acceptance } = world.deps;
    const { failed } = await applyInbox(
      { sql, queue, log, acceptance },
      { most: 1_000, timeIsUp: () => false },
    );
    expect(failed).toBe(0);
  };
  /** A call, then a command of the queue; applied in this order or in the reverse order. */
  async function inEitherOrder(order: string, called: () => PromiseLike<unknown>, given: object) {
    await called();
    await pass(20 * second);
    const at = now();
    await pass(20 * second);
    if (order === "the call in SQL is applied first") await applied();
    await pass(second);
    expect(await ingest({ at, ...given })).toEqual([]);
    await applied();
  }
  /** A command of the queue, then a call; applied in this order or in the reverse order. */
  async function afterwards(order: string, given: object, called: () => PromiseLike<unknown>) {
    const at = now();
    await pass(20 * second);
    await called();
    await pass(20 * second);
    if (order === "the call in SQL is applied first") await applied();
    await pass(second);
    expect(await ingest({ at, ...given })).toEqual([]);
    await applied();
  }

  test.each(["the call in SQL is applied first", "the command of the queue is applied first"])(
    "after a put in SQL and a later delete in the queue, the schedule is gone (%s)",
    async (order) => {
      await inEitherOrder(order, () => call("put_schedule", put("sql").put), { delete: key });
      expect(await read()).toBeNull();
    },
  );

  test.each(["the call in SQL is applied first", "the command of the queue is applied first"])(
    "after a delete in SQL and a later put in the queue, the schedule exists (%s)",
    async (order) => {
      await world.carillon.put(key, { when: "every 1h", target });
      await pass(second);
      await inEitherOrder(order, remove, put("queue"));
      expect((await read())?.body.payload).toBe("queue");
    },
  );

  test.each(["the call in SQL is applied first", "the command of the queue is applied first"])(
    "after a put in SQL and a later put in the queue, the later put counts (%s)",
    async (order) => {
      await inEitherOrder(order, () => call("put_schedule", put("sql").put), put("queue"));
      expect((await read())?.body.payload).toBe("queue");
    },
  );

  test.each(["the call in SQL is applied first", "the command of the queue is applied first"])(
    "after a put in the queue and a later delete in SQL, the schedule is gone (%s)",
    async (order) => {
      await afterwards(order, put("queue"), remove);
      expect(await read()).toBeNull();
      // A later command of the queue makes the schedule again.
      await pass(second);
      await ingest(put("again"));
      expect((await read())?.body.payload).toBe("again");
    },
  );

  test.each(["the call in SQL is applied first", "the command of the queue is applied first"])(
    "after a delete in the queue and a later put in SQL, the schedule exists (%s)",
    async (order) => {
      await afterwards(order, { delete: key }, () => call("put_schedule", put("sql").put));
      expect((await read())?.body.payload).toBe("sql");
    },
  );
});
