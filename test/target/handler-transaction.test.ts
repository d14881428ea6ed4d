import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { AlarmClock } from "../../lib/clock.ts";
import { defineJob, type JobHandler } from "../../lib/job/define-job.ts";
import type { InTransaction } from "../../lib/job/handler-context.ts";
import { again, giveUp, retryAfter } from "../../lib/job/handler-results.ts";
import { connectThrough, textOf, type WrapLine } from "../race/lines.ts";
import { aborted } from "../support/aborted.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import { type HandlerWorld, handlerWorld } from "./handler-world.ts";

let world: HandlerWorld;
afterEach(() => world.stop());

type Act = (inTransaction: InTransaction & { signal: AbortSignal }) => Promise<void>;

/** Writes its key, and then does what a test wants. */
const writes = (act: Act = async () => {}): JobHandler =>
  defineJob({
    name: "writes",
    payload: z.unknown(),
    run: async (job, context) => {
      await context.sql`insert into written values (${job.key})`;
      await act(context);
    },
  });

async function oneDue(body: object = {}): Promise<void> {
  await world.put("k", { when: "in 10s", target: { handler: "writes" }, ...body });
  await world.clock.advance(10 * second);
}

/** Runs one due job; returns its row. */
async function ranOnce(act?: Act, body: object = {}) {
  world = await handlerWorld(writes(act));
  await oneDue(body);
  expect(await world.runDue()).toBe(0);
  const [job] = await world.jobs("k");
  return job;
}

describe("writes with ctx.sql", () => {
  test("a handler's writes and its job's success commit together", async () => {
    expect(await ranOnce()).toMatchObject({ state: "succeeded", attempt: 1, parcelId: null });
    expect(await world.written()).toEqual(["k"]);
    expect(await world.sql`select from carillon.parcels`).toHaveLength(0);
  });

  test("a handler's writes are not visible before it has returned", async () => {
    let seen: string[] | undefined;
    await ranOnce(async () => {
      seen = await world.written();
    });
    expect(seen).toEqual([]);
  });

  test.each([
    ["an unexpected failure", new TypeError("boom"), { state: "waiting", error: "TypeError: boom" }],
    ["giving up", giveUp("closed"), { state: "dead", reason: "gave-up", error: "GaveUp: closed" }],
    [
      "a request for another attempt",
      retryAfter("7m"),
      { state: "waiting", readyAt: at(7 * minute + 10 * second) },
    ],
  ])("a handler's writes are rolled back by %s", async (_, error, expected) => {
    expect(await ranOnce(() => Promise.reject(error))).toMatchObject({ attempt: 1, ...expected });
    expect(await world.written()).toEqual([]);
  });

  test("a handler's writes are rolled back by a request for an attempt too far ahead, and the backoff applies", async () => {
    const job = await ranOnce(() => Promise.reject(retryAfter("31d")), {
      retry: { base: "3m", jitter: "none" },
    });
    expect(job).toMatchObject({ state: "waiting", readyAt: at(3 * minute + 10 * second) });
    expect(job?.error).toMatch(/more than 30d ahead: the schedule's backoff applies instead/);
  });

  test("a handler's writes are rolled back by a failed statement, also if the handler caught its error", async () => {
    const job = await ranOnce(async ({ sql }) => {
      await sql`select 1 / 0`.catch(() => {});
    });
    expect(job).toMatchObject({ state: "waiting", attempt: 1 });
    expect(job?.error).toMatch(/A statement of ctx\.sql had failed.*division by zero/);
    expect(await world.written()).toEqual([]);
  });

  test("a handler's writes commit after it has rolled back to a savepoint of its own", async () => {
    const job = await ranOnce(async ({ sql }) => {
      await sql`savepoint mine`;
      await sql`select 1 / 0`.catch(() => {});
      await sql`rollback to savepoint mine`;
      await sql`insert into written values ('after')`;
    });
    expect(job).toMatchObject({ state: "succeeded" });
    expect(await world.written()).toEqual(["after", "k"]);
  });

  test("a statement that the handler did not await is committed too, and fails the job if it fails", async () => {
    const hasty = (text: string) =>
      defineJob({
        name: "writes",
        payload: z.unknown(),
        run: async (_, { sql }) => {
          sql`insert into written values (${text})`.execute().catch(() => {});
        },
      });
    world = await handlerWorld(hasty("hasty"));
    await oneDue();
    await world.runDue();
    expect(await world.written()).toEqual(["hasty"]);
    await world.stop();
    world = await handlerWorld(hasty("\u0000"));
    await oneDue();
    await world.runDue();
    expect(await world.jobs("k")).toMatchObject([{ state: "waiting", attempt: 1 }]);
  });

  test("a handler's writes are rolled back if the lease was lost meanwhile, and the next worker is not disturbed", async () => {
    const job = await ranOnce(async () => {
      await world.sql`update carillon.parcels set fence = fence + 1`;
    });
    expect(job).toMatchObject({ state: "waiting", attempt: 0 });
    expect(await world.written()).toEqual([]);
    expect(await world.sql`select from carillon.parcels`).toHaveLength(1);
  });

  test("a handler's writes are rolled back if its job was cancelled meanwhile", async () => {
    const job = await ranOnce(async () => {
      await world.sql`update carillon.jobs set cancel_asked = true`;
    });
    expect(job).toMatchObject({ state: "cancelled", reason: "requested" });
    expect(await world.written()).toEqual([]);
  });

  test("a handler's writes are rolled back if its connection is lost, and the error names the likeliest reason", async () => {
    const job = await ranOnce(async ({ sql }) => {
      const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
      await world.sql`select pg_terminate_backend(${row?.pid ?? 0}, 5000)`;
    });
    expect(job).toMatchObject({ state: "waiting", attempt: 1 });
    expect(job?.error).toMatch(/connection to the database was lost.*is idle for ten seconds/);
    expect(await world.written()).toEqual([]);
  });

  test("a lost connection rolls a handler's writes back and is reported as such, also if the handler caught its error", async () => {
    const job = await ranOnce(async ({ sql }) => {
      await sql`select pg_terminate_backend(pg_backend_pid())`.catch(() => {});
      // Refused, because the connection is gone.
      await sql`select 1`.catch(() => {});
    });
    expect(job?.error).toMatch(/^ConnectionLost: .*is idle for ten seconds/);
    expect(await world.written()).toEqual([]);
  });
});

describe("ctx.sql", () => {
  test("ctx.sql has the driver's features: fragments, helpers and arrays, typed rows", async () => {
    let rows: { text: string }[] = [];
    await ranOnce(async ({ sql }) => {
      await sql`insert into written ${sql([{ text: "a" }, { text: "b" }])}`;
      await sql.unsafe("insert into written values ('c')");
      const known = sql`text = any(${["a", "b", "k"]}::text[])`;
      rows = await sql<{ text: string }[]>`select text from written where ${known} order by text`;
    });
    expect(rows).toEqual([{ text: "a" }, { text: "b" }, { text: "k" }]);
    expect(await world.written()).toEqual(["a", "b", "c", "k"]);
  });

  test.each(["commit", "rollback", "begin", " COMMIT", "end", "start transaction", "rollback work"])(
    "ctx.sql does not take %j, because the job ends the transaction",
    async (text) => {
      const job = await ranOnce(async ({ sql }) => {
        await sql.unsafe(text);
      });
      expect(job?.error).toMatch(/ctx\.sql is one transaction/);
      expect(await world.written()).toEqual([]);
    },
  );

  test("ctx.sql takes no statement after the handler has returned", async () => {
    const kept = Promise.withResolvers<InTransaction>();
    await ranOnce(async (context) => kept.resolve(context));
    const { sql, schedule } = await kept.promise;
    await expect(sql`insert into written values ('late')`).rejects.toThrow(
      "ctx.sql takes no more statements",
    );
    expect(() => schedule.cancel("k")).toThrow("ctx.schedule takes no more edits");
    expect(await world.written()).toEqual(["k"]);
  });

  test("ctx.sql takes no statement after the handler has returned, also if it took none before", async () => {
    const kept = Promise.withResolvers<InTransaction>();
    world = await handlerWorld(
      defineJob({ name: "writes", payload: z.unknown(), run: async (_, context) => kept.resolve(context) }),
    );
    await oneDue();
    await world.runDue();
    const { sql } = await kept.promise;
    await expect(sql`insert into written values ('late')`).rejects.toThrow(
      "ctx.sql takes no more statements",
    );
    expect(await world.jobs("k")).toMatchObject([{ state: "succeeded" }]);
    expect(await world.written()).toEqual([]);
  });

  test("an unused ctx.sql takes no connection, and the job is settled with the others of its parcel", async () => {
    world = await handlerWorld(defineJob({ name: "writes", payload: z.unknown(), run: async () => {} }));
    await oneDue();
    await world.transactions.end();
    expect(await world.runDue()).toBe(0);
    expect(await world.jobs("k")).toMatchObject([{ state: "succeeded" }]);
  });

  test("a handler without a transaction has no ctx.sql", async () => {
    let names: string[] = [];
    const outside = defineJob({
      name: "writes",
      payload: z.unknown(),
      transaction: false,
      run: async (_, context) => {
        names = Object.keys(context);
      },
    });
    world = await handlerWorld(outside);
    await oneDue();
    await world.runDue();
    expect(names.sort()).toEqual(["job", "log", "signal"]);
  });

  test("two handlers at once have two transactions, and further ones wait for a connection", async () => {
    world = await handlerWorld(writes());
    for (let n = 0; n < 7; n++)
      await world.put(`k${n}`, {
        when: `at ${at(10 * second).toISOString()}`,
        target: { handler: "writes" },
      });
    await world.clock.advance(10 * second);
    expect(await world.runDue()).toBe(0);
    expect(await world.written()).toEqual(["k0", "k1", "k2", "k3", "k4", "k5", "k6"]);
    expect((await world.jobs()).map(({ state }) => state)).toEqual(Array(7).fill("succeeded"));
  });
});

/** A clock whose alarm for an attempt's two seconds rings when this promise resolves. */
function timeUpAfter(come: Promise<void>): AlarmClock {
  return {
    now: world.clock.now,
    sleep: (ms, signal) => (signal === undefined ? world.clock.advance(ms) : aborted(signal)),
    alarm: (ms, ring) => {
      let isSet = ms === 2_000;
      void come.then(() => {
        if (isSet) ring();
      });
      return () => {
        isSet = false;
      };
    },
  };
}

describe("a handler whose time is up", () => {
  test("a handler whose time is up can write nothing more", async () => {
    const stopped = Promise.withResolvers<void>();
    const late = Promise.withResolvers<unknown>();
    world = await handlerWorld(
      writes(async ({ sql, signal }) => {
        signal.addEventListener("abort", () => {
          late.resolve(sql`insert into written values ('late')`.catch((error: unknown) => error));
        });
        stopped.resolve();
        await new Promise(() => {});
      }),
    );
    await oneDue({ timeout: "2s" });
    await world.tick();
    expect(await world.run({ clock: timeUpAfter(stopped.promise) })).toBe(0);
    expect(await late.promise).toMatchObject({ message: expect.stringContaining("The attempt was stopped") });
    expect(await world.jobs("k")).toMatchObject([
      { state: "waiting", attempt: 1, error: "AttemptStopped: The attempt took longer than 2s." },
    ]);
    expect(await world.written()).toEqual([]);
  });

  test("a handler whose time is up while its commit is under way has succeeded all the same, once", async () => {
    const stopped = Promise.withResolvers<void>();
    const settling = Promise.withResolvers<void>();
    world = await handlerWorld(writes());
    await oneDue({ timeout: "2s" });
    await world.tick();
    const heldBack: WrapLine = (line) => ({
      ...line,
      run: (statement) => {
        if (textOf(statement).trim() !== "commit") return line.run(statement);
        stopped.resolve();
        void settling.promise.then(() => line.run(statement));
      },
    });
    // The settle that follows waits for the parcel, which the transaction still has locked.
    const seen: WrapLine = (line) => ({
      ...line,
      run: (statement) => {
        line.run(statement);
        if (textOf(statement).includes("settle_parcel")) settling.resolve();
      },
    });
    const transactions = connectThrough(world.databaseUrl, heldBack, { max: 1 });
    const worker = connectThrough(world.databaseUrl, seen, { max: 2 });
    expect(await world.run({ clock: timeUpAfter(stopped.promise), transactions, worker })).toBe(0);
    await Promise.all([worker.end(), transactions.end()]);
    expect(await world.jobs("k")).toMatchObject([{ state: "succeeded", attempt: 1, error: null }]);
    expect(await world.written()).toEqual(["k"]);
  });

  test("a handler whose time is up before its transaction has begun does not succeed without its writes", async () => {
    const returned = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const hasty = defineJob({
      name: "writes",
      payload: z.unknown(),
      run: async (_, { sql, signal }) => {
        signal.addEventListener("abort", () => stopped.resolve());
        sql`insert into written values ('hasty')`.execute().catch(() => {});
        setImmediate(returned.resolve);
      },
    });
    world = await handlerWorld(hasty);
    await oneDue({ timeout: "2s" });
    await world.tick();
    const late: WrapLine = (line) => ({
      ...line,
      run: (statement) => {
        const text = textOf(statement).trim();
        if (text === "begin") return void stopped.promise.then(() => line.run(statement));
        line.run(statement);
        if (text === "commit" || text === "rollback") statement.then(() => ended.resolve(), ended.reject);
      },
    });
    // The worker's own settle comes only after the transaction has ended: until then no failure is
    // written.
    const waiting: WrapLine = (line) => ({
      ...line,
      run: (statement) => {
        if (!textOf(statement).includes("settle_parcel")) return line.run(statement);
        void ended.promise.then(() => line.run(statement));
      },
    });
    const transactions = connectThrough(world.databaseUrl, late, { max: 1 });
    const worker = connectThrough(world.databaseUrl, waiting, { max: 2 });
    expect(await world.run({ clock: timeUpAfter(returned.promise), transactions, worker })).toBe(0);
    await Promise.all([worker.end(), transactions.end()]);
    expect(await world.jobs("k")).toMatchObject([{ state: "waiting", attempt: 1 }]);
    expect(await world.written()).toEqual([]);
  });
});

describe("a recheck", () => {
  const checks = (bounds: { maxChecks?: number; maxAhead?: string }, next: Date | string) =>
    defineJob({
      name: "writes",
      payload: z.unknown(),
      ...bounds,
      run: async (job, { sql }) => {
        await sql`insert into written values (${`${job.kind} ${job.checks}`})`;
        return again(next);
      },
    });

  test("a recheck commits with the writes of its check, and comes at its time, as often as the handler allows", async () => {
    world = await handlerWorld(checks({ maxChecks: 2 }, "1h"));
    await oneDue();
    for (let check = 0; check < 4; check++) {
      await world.runDue();
      await world.clock.advance(hour);
    }
    expect(await world.written()).toEqual(["again 1", "cadence 0"]);
    const jobs = await world.jobs("k");
    expect(jobs.map(({ state, reason }) => [state, reason])).toEqual([
      ["succeeded", null],
      ["succeeded", null],
      ["dead", "max-checks"],
    ]);
    expect(jobs[2]?.error).toBe("It asked for another recheck after 2 rechecks; its handler allows 2.");
  });

  test.each([
    ["recheck-past", at(10 * second), {}, "which is not in the future"],
    ["recheck-far", "31d", {}, "its handler allows at most 30d ahead"],
    ["recheck-far", "2h", { maxAhead: "1h" }, "its handler allows at most 1h ahead"],
    ["max-checks", "2h", { maxChecks: 0 }, "its handler allows 0"],
  ])("a recheck that is not allowed makes the job dead: %s", async (reason, next, bounds, sentence) => {
    world = await handlerWorld(checks(bounds, next));
    await oneDue();
    await world.runDue();
    const [job] = await world.jobs("k");
    expect(job).toMatchObject({ state: "dead", reason });
    expect(job?.error).toContain(sentence);
    expect(await world.written()).toEqual([]);
  });

  test("a recheck on a day without a partition gets one", async () => {
    world = await handlerWorld(checks({}, "29d"));
    await oneDue();
    await world.runDue();
    expect(await world.jobs("k")).toMatchObject([{ state: "succeeded" }, { state: "waiting" }]);
  });

  test("a recheck of a handler without a transaction is made by the settle", async () => {
    const outside = defineJob({
      name: "writes",
      payload: z.unknown(),
      transaction: false,
      run: async () => again("1h"),
    });
    world = await handlerWorld(outside);
    await oneDue();
    await world.runDue();
    expect(await world.jobs("k")).toMatchObject([
      { state: "succeeded" },
      { state: "waiting", occurrence: at(hour + 10 * second) },
    ]);
  });
});
