import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { connect, type Sql, type Tx } from "../../lib/db/connect.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

function open(keepsPlans = true): Sql {
  const sql = connect({ DATABASE_URL: database.url }, { max: 1, keepsPlans });
  onTestFinished(() => sql.end());
  return sql;
}

/** The outcome of each statement; one without an answer would hang the test. */
async function outcomes(statements: readonly PromiseLike<unknown>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(statements);
  return settled.map((each) => (each.status === "fulfilled" ? each.value : String(each.reason)));
}

const circular: Record<string, unknown> = {};
circular["self"] = circular;

type Ask = (sql: Tx, value: unknown) => PromiseLike<unknown>;
const asText: Ask = (sql, value) => sql`select ${value as string}::text as v`;
const asInstant: Ask = (sql, value) => sql`select ${value as Date}::timestamptz as v`;
const asInstants: Ask = (sql, value) => sql`select ${value as Date[]}::timestamptz[] as v`;
const asJson: Ask = (sql, value) => sql`select ${sql.json(value as string)}::jsonb as v`;
const asArray: Ask = (sql, value) => sql`select ${sql.array(value as string[])}::text[] as v`;
const asFragment: Ask = (sql, value) => sql`select v from (select ${sql`${value as string}::text`} as v) f`;
const asRows: Ask = (sql, value) => sql`select v from (values ${sql([[value as string]])}) t (v)`;
const asUnsafe: Ask = (sql, value) =>
  sql.unsafe("select $1::text as v", [value as string], { prepare: true });
const asSet: Ask = (sql, value) =>
  sql`with w as (update held set ${sql({ v: value as string })} returning v) select * from w`;

const unwritten: [name: string, ask: Ask, good: unknown, bad: unknown, why: RegExp][] = [
  ["undefined", asText, "x", undefined, /value of \$1 is undefined, in "select \$1::text as v"/],
  ["a symbol", asText, "x", Symbol("s"), /value of \$1 is a symbol/],
  ["a function", asText, "x", () => "x", /value of \$1 is a function/],
  ["a promise", asText, "x", Promise.resolve("x"), /value of \$1 is a promise that was not awaited/],
  ["an invalid date", asInstant, new Date(0), new Date(Number.NaN), /value of \$1 is an invalid date/],
  ["JSON of a bigint", asJson, {}, { n: 1n }, /value of \$1 is a value that has no JSON \(TypeError.*BigInt/],
  [
    "JSON of a circle",
    asJson,
    {},
    circular,
    /value of \$1 is a value that has no JSON \(TypeError.*circular/,
  ],
  ["JSON of a function", asJson, {}, () => 1, /value of \$1 is a value that has no JSON/],
  ["a circle as it is", asText, "x", circular, /value of \$1 is a value that has no JSON/],
  [
    "an invalid date in an array",
    asInstants,
    [new Date(0)],
    [new Date(0), new Date(Number.NaN)],
    /value of \$1 is an array with an invalid date at \[1\]/,
  ],
  [
    "a symbol in an array",
    asArray,
    ["x"],
    ["x", Symbol("s")],
    /value of \$1 is an array with a symbol at \[1\]/,
  ],
  ["undefined in a fragment", asFragment, "x", undefined, /value of \$1 is undefined/],
  ["undefined in a list of rows", asRows, "x", undefined, /value of \$1 is undefined/],
  ["undefined in a list of columns", asSet, "x", undefined, /value of \$1 is undefined/],
  ["undefined in an unsafe statement", asUnsafe, "x", undefined, /value of \$1 is undefined/],
];

describe.each([
  ["with prepared statements", true],
  ["without prepared statements", false],
])("%s", (_, keepsPlans) => {
  test.each(unwritten)(
    "%s fails its own statement alone, and each other statement on the connection gets its own answer",
    async (_name, ask, good, bad, why) => {
      const sql = open(keepsPlans);
      await sql`create table if not exists held (v text)`;
      // Prepares the statement if that is enabled: values are then written the moment the statement
      // is sent.
      await ask(sql, good);
      await ask(sql, good);
      const number = async (n: number) => {
        const [row] = await sql`select ${n}::int as n`;
        return row?.["n"];
      };
      const found = await outcomes([number(1), number(2), ask(sql, bad), number(3), number(4)]);
      expect(found).toEqual([1, 2, expect.stringMatching(why), 3, 4]);
      expect(String(found[2])).toContain("A statement takes text, numbers,");
    },
  );

  test.each(unwritten)(
    "%s fails its transaction, also if other statements are sent with it",
    async (_name, ask, good, bad, why) => {
      const sql = open(keepsPlans);
      await sql`create table if not exists held (v text)`;
      await ask(sql, good);
      const outcome = sql.begin((tx) => Promise.all([tx`select 1`, tx`select 2`, ask(tx, bad)]));
      await expect(outcome).rejects.toThrow(why);
      expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
    },
  );
});

test("A transaction with a value that cannot be sent fails even where its work has caught the error", async () => {
  const sql = open();
  await sql`create table caught (v text)`;
  const outcome = sql.begin(async (tx) => {
    await tx`insert into caught values ('a')`;
    await asText(tx, undefined).then(undefined, () => {});
  });
  await expect(outcome).rejects.toThrow(/is undefined/);
  expect(await sql`select v from caught`).toEqual([]);
});

test("a transaction with a value that could not be sent commits after a rollback to the savepoint before that value", async () => {
  const sql = open();
  await sql`create table savepoints (v text)`;
  await sql.begin(async (tx) => {
    await tx`savepoint mine`;
    await asText(tx, undefined).then(undefined, () => {});
    await tx`rollback to savepoint mine`;
    await tx`insert into savepoints values ('after')`;
  });
  expect(await sql`select v from savepoints`).toEqual([{ v: "after" }]);
});

test.each<[string, Ask, unknown, unknown]>([
  ["text that is no date", asInstant, new Date(0), "yesterday-ish"],
  ["a number for an array", (sql, value) => sql`select ${value as string[]}::text[] as v`, ["x"], 5],
  ["an object for a date", asInstant, new Date(0), { a: 1 }],
  ["a number for bytes", (sql, value) => sql`select ${value as string}::bytea as v`, Buffer.from("x"), 5],
])("%s is refused by Postgres, and fails no other statement", async (_, ask, good, bad) => {
  const sql = open();
  await ask(sql, good);
  await ask(sql, good);
  const found = await outcomes([sql`select 1 as n`, ask(sql, bad), sql`select 2 as n`]);
  expect(found).toEqual([[{ n: 1 }], expect.stringContaining("PostgresError: "), [{ n: 2 }]]);
});

test("a date that only Postgres knows can be sent", async () => {
  const sql = open();
  const isEndless = (at: unknown) => sql`select not isfinite(${at as Date}::timestamptz) as endless`;
  expect(await isEndless(new Date(0))).toEqual([{ endless: false }]);
  expect(await isEndless("infinity")).toEqual([{ endless: true }]);
});

test("more parameters than the protocol allows fail their statement alone, with their number in the error", async () => {
  const sql = open();
  const rows = Array.from({ length: 65_534 }, (_, n) => [n]);
  const found = await outcomes([
    sql`select 1 as n`,
    sql`select count(*) from (values ${sql(rows)}) t (n)`,
    sql`select 2 as n`,
  ]);
  expect(found).toEqual([[{ n: 1 }], expect.stringContaining("there are 65534 parameters"), [{ n: 2 }]]);
});

test("a helper of the driver that cannot be turned into text fails its statement alone", async () => {
  const sql = open();
  const none: object[] = [];
  const found = await outcomes([
    sql`select 1 as n`,
    sql`insert into nothing ${sql(none)}`,
    sql`select 2 as n`,
  ]);
  expect(found).toEqual([[{ n: 1 }], expect.stringContaining("it could not be made"), [{ n: 2 }]]);
});

test("no caller gets another's answer when the driver fails at a value that passed the check", async () => {
  const sql = open();
  let reads = 0;
  const helper = () => ({
    // The first read is the check, the second the driver, which then fails.
    get v() {
      reads += 1;
      if (reads > 1) throw new Error("read twice");
      return "x";
    },
  });
  const found = await outcomes([
    sql`select 1 as n`,
    sql`select 2 as n`,
    sql`select ${sql(helper())}`,
    sql`select 3 as n`,
  ]);
  // The driver may fail any of these statements. An answer must be the statement's own, and later
  // statements use another connection.
  for (const [place, n] of [
    [0, 1],
    [1, 2],
    [3, 3],
  ] as const)
    expect([[{ n }], expect.any(String)]).toContainEqual(found[place]);
  expect(found[2]).toEqual(expect.any(String));
  expect(await sql`select 4 as n`).toEqual([{ n: 4 }]);
});

test("an object is sent with the content that it had when the statement was made", async () => {
  const sql = open();
  const payload = { n: 1 };
  const sent = sql`select ${sql.json(payload)}::jsonb as v`.execute();
  await Promise.resolve();
  await Promise.resolve();
  payload.n = 2;
  expect(await sent).toEqual([{ v: { n: 1 } }]);
});

test("values of every type arrive unchanged", async () => {
  const sql = open();
  const at = new Date("2026-01-02T03:04:05.678Z");
  const read = async () => {
    const [row] = await sql`
      select ${"text"}::text as text, ${5}::int as int, ${String(5n)}::bigint as big, ${true}::boolean as bool, ${null}::text as none,
        ${at}::timestamptz as at, ${Buffer.from("ab")}::bytea as bytes, ${sql.json({ a: [1, "b", null] })}::jsonb as json,
        ${sql.json("x")}::jsonb as word, ${sql.json(null)}::jsonb as gone, ${["a", 'b"\\', null as unknown as string]}::text[] as texts,
        ${sql.array([at])}::timestamptz[] as instants`;
    return row;
  };
  const expected = {
    text: "text",
    int: 5,
    big: "5",
    bool: true,
    none: null,
    at,
    bytes: Buffer.from("ab"),
    json: { a: [1, "b", null] },
    word: "x",
    gone: null,
    texts: ["a", 'b"\\', null],
    instants: [at],
  };
  expect(await read()).toEqual(expected);
  expect(await read()).toEqual(expected);
});
