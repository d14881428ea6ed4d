import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../lib/job/define-job.ts";
import type { InTransaction } from "../../lib/job/handler-context.ts";
import { second } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { type HandlerWorld, handlerWorld } from "./handler-world.ts";

let world: HandlerWorld;
afterEach(() => world.stop());

type Act = (sql: InTransaction["sql"]) => Promise<unknown>;

async function due(key: string): Promise<void> {
  await world.put(key, { when: "in 10s", target: { handler: "writes" }, retry: { attempts: 1 } });
  await world.clock.advance(10 * second);
  await world.runDue();
}

/**
 * Advisory locks of this class. Tests of other databases run on the same server, and a connection
 * is reset after its job has settled.
 */
async function locksOf(advisoryClass: number): Promise<number> {
  const rows = await world.sql`
    select from pg_locks where locktype = 'advisory' and classid = ${advisoryClass}
      and database = (select oid from pg_database where datname = current_database())`;
  return rows.length;
}

/** Runs a job that does this, and then another one, on the same connection if that still exists. */
async function besideNext(act: Act): Promise<{ odd: unknown; written: string[] }> {
  const writes = defineJob({
    name: "writes",
    payload: z.unknown(),
    run: async (job, { sql }) => {
      if (job.key === "odd") await act(sql);
      else await sql`insert into written values (${job.key})`;
    },
  });
  world = await handlerWorld(writes);
  await due("odd");
  await due("next");
  expect(await world.jobs("next")).toMatchObject([{ state: "succeeded", error: null }]);
  const [odd] = await world.jobs("odd");
  return { odd, written: await world.written() };
}

describe("the next job on a connection", () => {
  test.each<[string, Act]>([
    ["a search path", (sql) => sql`select set_config('search_path', 'nowhere', false)`],
    ["a read-only session", (sql) => sql`select set_config('default_transaction_read_only', 'on', false)`],
    ["a role without rights", (sql) => sql`select set_config('role', 'carillon_worker', false)`],
    ["a temporary table", (sql) => sql`create temp table written (text text, other text not null)`],
    ["a temporary table by a select", (sql) => sql`select 'x' as other into temp written`],
    ["a cursor that outlives it", (sql) => sql`declare mine cursor with hold for select 1`],
    [
      "a setting by a `do` block",
      (sql) => sql.unsafe("do $$ begin perform set_config('search_path', 'nowhere', false); end $$"),
    ],
    [
      "a setting behind a string that looks like code",
      (sql) => sql.unsafe(String.raw`select E'\'', set_config('search_path', 'nowhere', false), ''`),
    ],
    [
      "a setting behind a nested comment",
      (sql) => sql.unsafe("select /* /* */ ' */ set_config('search_path', 'nowhere', false)  -- '"),
    ],
  ])("a job does not find %s of the job before it on the connection", async (_, act) => {
    const { odd, written } = await besideNext(act);
    expect(odd).toMatchObject({ state: "succeeded", error: null });
    expect(written).toEqual(["next"]);
  });

  test.each([
    ["the plan of shard 0", 1],
    ["the gate of shard 0", 2],
  ])("a job does not inherit a session lock on %s", async (_, kind) => {
    const { odd } = await besideNext((sql) => sql`select pg_advisory_lock(${kind}::int, 0)`);
    expect(odd).toMatchObject({ state: "succeeded" });
    await until("the lock is released", async () => (await locksOf(kind)) === 0);
  });

  test("a job does not inherit a session lock from a job that failed", async () => {
    const { odd } = await besideNext(async (sql) => {
      await sql`select pg_advisory_lock(1, 0)`;
      throw new Error("boom");
    });
    expect(odd).toMatchObject({ state: "dead", error: "Error: boom" });
    await until("the lock is released", async () => (await locksOf(1)) === 0);
  });
});

describe("a job's transaction", () => {
  test.each<[string, Act]>([
    ["a comment", (sql) => sql`/* x */ commit`],
    ["a nested comment", (sql) => sql`/* /* x */ */ commit`],
    ["a line comment", (sql) => sql.unsafe("-- x\nrollback")],
    ["a line comment that ends with a carriage return", (sql) => sql.unsafe("-- x\rcommit")],
    ["a semicolon", (sql) => sql.unsafe(" ; commit")],
    ["an empty fragment", (sql) => sql`${sql``}${sql`commit`}`],
    ["a comment between its words", (sql) => sql.unsafe("start/**/transaction")],
  ])("a job's transaction is not ended behind %s", async (_, act) => {
    const { odd, written } = await besideNext(async (sql) => {
      await sql`insert into written values ('odd')`;
      await act(sql);
    });
    expect(odd).toMatchObject({
      state: "dead",
      error: expect.stringContaining("ctx.sql is one transaction"),
    });
    expect(written).toEqual(["next"]);
  });

  test.each<[string, Act]>([
    ["one text", (sql) => sql.unsafe("insert into written values ('odd'); commit; begin")],
    [
      "one text by the simple protocol",
      (sql) => sql`insert into written values ('odd'); commit; begin`.simple(),
    ],
  ])("a job's transaction takes one statement at a time: several in %s are refused", async (_, act) => {
    const { odd, written } = await besideNext(async (sql) => {
      await act(sql);
      throw new Error("boom");
    });
    expect(odd).toMatchObject({ error: expect.stringContaining("cannot insert multiple commands") });
    expect(written).toEqual(["next"]);
  });

  test("a job's transaction takes fragments that begin with the word of a statement that would end it", async () => {
    const { odd, written } = await besideNext(
      (sql) => sql`insert into written select case when true then 'odd' ${sql`end`}`,
    );
    expect(odd).toMatchObject({ state: "succeeded", error: null });
    expect(written).toEqual(["next", "odd"]);
  });

  test("each statement gets its own answer if a value of another cannot be sent, and the job fails", async () => {
    let answers: unknown[] = [];
    const { odd } = await besideNext(async (sql) => {
      const number = (n: number | undefined) => sql`select ${n as number}::int as n`;
      const settled = await Promise.allSettled([number(1), number(2), number(undefined), number(3)]);
      answers = settled.map((each) => (each.status === "fulfilled" ? each.value[0]?.["n"] : "refused"));
    });
    expect(answers).toEqual([1, 2, "refused", 3]);
    expect(odd).toMatchObject({ state: "dead", error: expect.stringContaining("value of $1 is undefined") });
  });
});

describe("a connection", () => {
  const left = { state: "dead", error: expect.stringContaining("The handler left a cursor or a copy open") };

  test.each<[string, Act]>([
    [
      "a cursor",
      (sql) => {
        const rows = sql`select generate_series(1, 100) as n`.cursor(2);
        return rows[Symbol.asyncIterator]().next();
      },
    ],
    [
      "a cursor with rows on their way",
      async (sql) => {
        const rows = sql`select generate_series(1, 100) as n`.cursor(2);
        rows[Symbol.asyncIterator]()
          .next()
          .catch(() => {});
      },
    ],
    [
      "a cursor whose function is still running",
      async (sql) => {
        const rows = sql`select generate_series(1, 100) as n`.cursor(2, () => new Promise(() => {}));
        rows.catch(() => {});
      },
    ],
    [
      "a copy to the server",
      async (sql) => {
        const copy = await sql`copy written from stdin`.writable();
        copy.write("odd\n");
      },
    ],
    ["a copy from the server", (sql) => sql`copy (select generate_series(1, 100000)) to stdout`.readable()],
  ])("a connection with %s left open is closed, and the job fails", async (_, act) => {
    const { odd, written } = await besideNext(act);
    expect(odd).toMatchObject(left);
    expect(written).toEqual(["next"]);
  });

  test("a connection with a cursor left open by a failed job is closed, and the job keeps its own error", async () => {
    const { odd } = await besideNext(async (sql) => {
      await sql`select generate_series(1, 100) as n`.cursor(2)[Symbol.asyncIterator]().next();
      throw new Error("boom");
    });
    expect(odd).toMatchObject({ state: "dead", error: "Error: boom" });
  });

  test("a connection can be used after a cursor and copies that were ended", async () => {
    const { odd, written } = await besideNext(async (sql) => {
      for await (const [row] of sql`select generate_series(1, 100) as n`.cursor(1))
        if (row?.["n"] === 3) break;
      for await (const rows of sql`select generate_series(1, 3) as n`.cursor(2))
        expect(rows.length).toBeGreaterThan(0);
      const copy = await sql`copy written from stdin`.writable();
      await new Promise<void>((resolve) => copy.end("odd\n", () => resolve()));
      let text = "";
      for await (const piece of await sql`copy (select 'read') to stdout`.readable()) text += String(piece);
      await sql`insert into written values (${text.trim()})`;
    });
    expect(odd).toMatchObject({ state: "succeeded", error: null });
    expect(written).toEqual(["next", "odd", "read"]);
  });

  test("a connection on which a statement is cancelled is closed, and the job fails", async () => {
    let heard: unknown;
    const { odd, written } = await besideNext(async (sql) => {
      await sql`insert into written values ('odd')`;
      const waits = sql`select pg_sleep(30)`.execute();
      // After it has been sent: the statement before it was answered.
      setImmediate(() => waits.cancel());
      heard = await waits.catch((error: unknown) => error);
    });
    expect(heard).toMatchObject({ message: expect.stringContaining("A statement was cancelled") });
    expect(odd).toMatchObject({ state: "dead", error: expect.stringContaining("A statement was cancelled") });
    expect(written).toEqual(["next"]);
  });

  test("a connection can be used after a statement was cancelled before it was sent, or after its answer", async () => {
    const { odd, written } = await besideNext(async (sql) => {
      sql`insert into written values ('never')`.cancel();
      const answered = sql`insert into written values ('odd')`;
      await answered;
      answered.cancel();
    });
    expect(odd).toMatchObject({ state: "succeeded", error: null });
    expect(written).toEqual(["next", "odd"]);
  });

  test("ctx.sql refuses a stream that is not a single copy statement", async () => {
    const { odd, written } = await besideNext((sql) =>
      sql.unsafe("copy (select 1) to stdout; commit; begin").readable(),
    );
    expect(odd).toMatchObject({ error: expect.stringContaining("takes one `copy` statement") });
    expect(written).toEqual(["next"]);
  });
});
