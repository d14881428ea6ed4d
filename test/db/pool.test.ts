import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openLine } from "../../lib/db/line.ts";
import { makePool } from "../../lib/db/pool.ts";
import { makeSql, type Sql } from "../../lib/db/sql.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const IDLE_MS = 30_000;

/** A pool with a clock that the test moves. */
function setup(max = 1): { sql: Sql; moveClock(ms: number): void; opened(): number } {
  const { hostname, port, username, password, pathname } = new URL(database.url);
  const login = {
    host: hostname,
    port: Number(port),
    database: pathname.slice(1),
    user: username,
    password: () => decodeURIComponent(password),
    tls: false,
    applicationName: "pool test",
    keepsPlans: true,
    connectMs: 3_000,
    answerMs: null,
  };
  let [now, opened] = [0, 0];
  const open = (onLost: () => void) => {
    opened += 1;
    return openLine(login, onLost);
  };
  const sql = makeSql(makePool(open, { max, idleMs: IDLE_MS }, () => now));
  onTestFinished(() => sql.end());
  return {
    sql,
    moveClock: (ms) => {
      now += ms;
    },
    opened: () => opened,
  };
}

test("a connection is reused while it is fresh, and never after a pause in which the server may have gone", async () => {
  const { sql, moveClock, opened } = setup();
  await sql`select 1`;
  moveClock(IDLE_MS);
  await sql`select 1`;
  expect(opened()).toBe(1);
  moveClock(IDLE_MS + 1);
  await sql`select 1`;
  expect(opened()).toBe(2);
  moveClock(IDLE_MS + 1);
  await sql.begin((tx) => tx`select 1`);
  expect(opened()).toBe(3);
});

test("never more connections are open than allowed, and every statement gets its answer", async () => {
  const { sql, opened } = setup(2);
  const answers = await Promise.all(
    Array.from({ length: 500 }, async (_, n) => {
      if (n % 5 > 0) return (await sql<{ n: number }[]>`select ${n}::int as n`)[0]?.n;
      return sql.begin(async (tx) => (await tx<{ n: number }[]>`select ${n}::int as n`)[0]?.n);
    }),
  );
  expect(answers).toEqual(Array.from({ length: 500 }, (_, n) => n));
  expect(opened()).toBe(2);
});

test("a transaction does not wait for later statements", async () => {
  const { sql } = setup(1);
  const order: string[] = [];
  const before = sql`select pg_sleep(0.05)`.then(() => order.push("before"));
  // A statement reaches the pool a microtask after it is awaited, a transaction at once.
  await Promise.resolve();
  const transaction = sql.begin(async (tx) => {
    await tx`select 1`;
    order.push("transaction");
  });
  const after = sql`select 1`.then(() => order.push("after"));
  await Promise.all([before, transaction, after]);
  expect(order).toEqual(["before", "transaction", "after"]);
});

test("work that throws at once leaves its connection usable", async () => {
  const { sql, opened } = setup(1);
  const failing = sql.begin(() => Promise.reject(new Error("no")));
  await expect(failing).rejects.toThrow("no");
  await expect(sql.begin((tx) => tx`select broken`)).rejects.toMatchObject({ code: "42703" });
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  expect(opened()).toBe(1);
});

test("closing waits for running statements and refuses waiting ones", async () => {
  const { sql } = setup(1);
  const underWay = sql`select pg_sleep(0.05)`.then(() => {});
  await Promise.resolve();
  const outcomes = Promise.allSettled([underWay, sql.begin((tx) => tx`select 1`)]);
  await sql.end();
  expect((await outcomes).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
});

test.each([
  ["a statement", (sql: Sql) => sql`create table public.written (n int)`],
  ["a transaction", (sql: Sql) => sql.begin((tx) => tx`create table public.written (n int)`)],
] as const)("A connection whose server refuses a write of %s is not used again", async (_, write) => {
  const { sql, opened } = setup();
  // As after a failover: the former writer is a reader, for the life of this connection.
  await sql`set default_transaction_read_only = on`;
  await expect(write(sql)).rejects.toMatchObject({ code: "25006" });
  await write(sql);
  await sql`drop table public.written`;
  expect(opened()).toBe(2);
});
