import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { transactionMs } from "../../lib/config/function-connections.ts";
import { functionTimeoutSeconds } from "../../lib/config/function-limits.ts";
import { connect, type Sql, type Tx } from "../../lib/db/connect.ts";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import { inRequestTime, shortened } from "../../lib/db/request-time.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { type Counted, countRoundTrips } from "../support/round-trips.ts";

let database: TestDatabase;
let counted: Counted;
let sql: Sql;

beforeEach(async () => {
  database = await testDatabase("empty");
  counted = await countRoundTrips(database.url);
  sql = connect({ DATABASE_URL: counted.url });
});

afterEach(async () => {
  await sql.end();
  await database.drop();
});

const limit = async (tx: Tx = sql) => {
  const [row] = await tx<{ limit: string }[]>`select current_setting('statement_timeout') as limit`;
  return row?.limit;
};

const hour = 3_600_000;
const within = <T>(statementMs: number | null, act: () => Promise<T>, wholeMs = hour) =>
  inRequestTime(shortened({ statementMs, until: Number.POSITIVE_INFINITY }, wholeMs), act);

test("a request's limit holds for its statements and its transactions, and no session keeps it", async () => {
  const own = await within(7_000, async () => [
    await limit(),
    await sql.begin((tx) => limit(tx)),
    await sql.beginByReading((tx) => limit(tx)),
  ]);
  expect(own).toEqual(["7s", "7s", "7s"]);
  expect(await limit()).toBe("0");
  expect(await within(null, () => limit())).toBe("0");
});

test("a statement with a limit takes one round trip, as it does without", async () => {
  // The first statement is prepared, and its end is sent after its answer.
  await within(7_000, () => limit());
  await sql`select 1`;
  counted.taken();
  await within(7_000, () => limit());
  expect(counted.taken()).toBe(1);
});

test("a statement with a limit is answered when its work is committed", async () => {
  const other = connect({ DATABASE_URL: database.url });
  await sql`create table public.written (n int)`;
  for (const n of [1, 2, 3, 4, 5]) {
    await within(7_000, async () => await sql`insert into public.written values (${n})`);
    expect(await other`select from public.written`).toHaveLength(n);
  }
  await other.end();
});

test("a statement whose work cannot be committed fails", async () => {
  await sql`create table public.written (n int unique deferrable initially deferred)`;
  const twice = async () => await sql`insert into public.written values (1), (1)`;
  await expect(within(7_000, twice)).rejects.toMatchObject({ code: "23505" });
});

test("a statement that fails in a request's time leaves the connection as it was", async () => {
  await expect(within(7_000, async () => await sql`select 1 / 0`)).rejects.toMatchObject({ code: "22012" });
  expect(await within(7_000, () => limit())).toBe("7s");
  expect(await limit()).toBe("0");
});

test.each([
  ["a statement", null, async () => await sql`select pg_sleep(3600)`],
  ["a statement with a limit", hour, async () => await sql`select pg_sleep(3600)`],
  ["a transaction", null, () => sql.begin(async (tx) => await tx`select pg_sleep(3600)`)],
])("%s is ended with its request, and the next one gets another connection", async (_, statementMs, act) => {
  await expect(within(statementMs, act, 200)).rejects.toBeInstanceOf(ConnectionLost);
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
});

test("a transaction is ended after the longest time of its function, and a statement alone is not", async () => {
  const bounded = connect({ DATABASE_URL: database.url }, { max: 2, transactionMs: 300 });
  const alone = bounded`select pg_sleep(1)`.execute();
  const chain = bounded.begin(async (tx) => {
    for (;;) await tx`select pg_sleep(0.01)`;
  });
  await expect(chain).rejects.toBeInstanceOf(ConnectionLost);
  await alone;
  await bounded.end();
});

test("the time of a transaction lies between the limit of a statement and that of its function", () => {
  const schema = readFileSync(new URL("../fixtures/schema.sql", import.meta.url), "utf8");
  const roleMs = (role: string) =>
    Number(
      new RegExp(`^alter role carillon_${role} set statement_timeout=(\\d+)s;$`, "m").exec(schema)?.[1],
    ) * 1_000;
  const limits = [
    [roleMs("tick"), transactionMs.tick, functionTimeoutSeconds.tick],
    [roleMs("worker"), transactionMs.worker, functionTimeoutSeconds.fastWorker],
    [roleMs("ingest"), transactionMs.ingest, functionTimeoutSeconds.ingest],
  ] as const;
  for (const [statement, whole, seconds] of limits) {
    expect(whole).toBeGreaterThan(statement);
    expect(whole).toBeLessThan(seconds * 1_000);
  }
});

test("nothing is sent once the time of a request is over", async () => {
  const acts = [() => limit(), () => sql.begin((tx) => limit(tx))];
  for (const act of acts) {
    for (const statementMs of [null, hour])
      await expect(within(statementMs, act, 0)).rejects.toThrow("its time is over");
  }
  expect(counted.taken()).toBe(0);
});
