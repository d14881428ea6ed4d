import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type ConnectOptions, connect, type Sql, type Tx } from "../../lib/db/connect.ts";
import { keptPlan } from "../../lib/db/statement.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

/** One connection, which is one session until it is lost. */
function open(env: Record<string, string> = {}, options: ConnectOptions = {}): Sql {
  const sql = connect({ DATABASE_URL: database.url, ...env }, { max: 1, ...options });
  onTestFinished(() => sql.end());
  return sql;
}

/** The statements that the session keeps, by the number at the beginning of each. */
async function keptOf(tx: Tx): Promise<number[]> {
  const rows = await tx<{ n: number }[]>`
    select substring(statement from '^\\s*select (\\d+)')::int as n from pg_prepared_statements
    where statement ~ '^\\s*select \\d+' order by n`;
  return rows.map(({ n }) => n);
}

/** One statement of each kind, with a first number that identifies it. */
async function runEach(tx: Tx): Promise<void> {
  const instants = tx.array([new Date(0)]);
  await tx`select 1`;
  await tx`select 2, ${"x"}::text, ${7}::int, ${null}::text, ${new Date(0)}::timestamptz, ${Buffer.from("x")}::bytea`;
  await tx`select 3, ${["x", "y"]}::text[], ${instants}::timestamptz[], ${tx.json({ a: [1] })}::jsonb`;
  await tx`select 4, ${tx`now()`}`;
  await tx`select 5 as ${tx("name")}`;
  await tx`select 6 where 6 in ${tx([6, 7])}`;
  await keptPlan(tx`select 7, ${tx`now()`}`);
  await tx.unsafe("select 8");
}

const fixed = [1, 2, 3];
const marked = 7;

describe("on a connection that keeps plans", () => {
  test("a connection that keeps plans keeps those of statements with a constant text, and of marked statements that are made of parts", async () => {
    const sql = open();
    await runEach(sql);
    expect(await keptOf(sql)).toEqual([...fixed, marked]);
  });

  test("a connection that keeps plans keeps those of statements in transactions too, each once", async () => {
    const sql = open();
    for (let turn = 0; turn < 3; turn++) await sql.begin(runEach);
    expect(await keptOf(sql)).toEqual([...fixed, marked]);
  });

  test("a session keeps its own plans only, also a session of `alone`", async () => {
    const sql = open();
    await runEach(sql);
    expect(await keptOf(open())).toEqual([]);
    await open().alone(async (session) => {
      await session`select 1`;
      await session.begin((tx) => tx`select 2, ${"x"}::text`);
      expect(await keptOf(session)).toEqual([1, 2]);
    });
  });
});

describe("no plan is kept", () => {
  test.each<[string, Record<string, string>, ConnectOptions]>([
    ["with DATABASE_PREPARE=off", { DATABASE_PREPARE: "off" }, {}],
    [
      "with DATABASE_PREPARE=off, also if the function keeps plans",
      { DATABASE_PREPARE: "off" },
      { keepsPlans: true },
    ],
    ["if the function keeps no plans", {}, { keepsPlans: false }],
    [
      "if the function keeps no plans, also with DATABASE_PREPARE=on",
      { DATABASE_PREPARE: "on" },
      { keepsPlans: false },
    ],
  ])("no plan is kept %s", async (_, env, options) => {
    const sql = open(env, options);
    await runEach(sql);
    await sql.begin(runEach);
    expect(await sql`select name from pg_prepared_statements`).toEqual([]);
  });
});

test.each(["yes", "ON", ""])('DATABASE_PREPARE="%s" is refused with the allowed values', (value) => {
  expect(() => open({ DATABASE_PREPARE: value })).toThrow(
    `DATABASE_PREPARE is "${value}"; it takes "on" or "off".`,
  );
});

describe("when the type of a column of a kept statement changes", () => {
  async function changing(table: string): Promise<{ sql: Sql; change(): Promise<void> }> {
    const [sql, owner] = [open(), open({}, { keepsPlans: false })];
    await owner.unsafe(`create table ${table} (id int, amount int)`);
    await owner.unsafe(`insert into ${table} values (1, 7)`);
    const change = async () => {
      await owner.unsafe(`alter table ${table} alter column amount type text using amount::text`);
    };
    return { sql, change };
  }

  test("when a column of a kept statement gets another type, the next run outside a transaction succeeds, since the driver sends it again", async () => {
    const { sql, change } = await changing("outside");
    const read = () => sql`select * from outside where id = ${1}`;
    expect(await read()).toEqual([{ id: 1, amount: 7 }]);
    await change();
    expect(await read()).toEqual([{ id: 1, amount: "7" }]);
    expect(await read()).toEqual([{ id: 1, amount: "7" }]);
  });

  test("when a column of a kept statement gets another type, the next transaction with it fails, and the one after it succeeds", async () => {
    const { sql, change } = await changing("inside");
    const read = () => sql.begin((tx) => tx`select * from inside where id = ${1}`);
    expect(await read()).toEqual([{ id: 1, amount: 7 }]);
    await change();
    await expect(read()).rejects.toMatchObject({
      code: "0A000",
      message: "cached plan must not change result type",
    });
    expect(await read()).toEqual([{ id: 1, amount: "7" }]);
  });
});
