import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type ConnectOptions, connect, type Sql, type Tx } from "../../lib/db/connect.ts";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { countRoundTrips } from "../support/round-trips.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

function open(options: ConnectOptions = {}): Sql {
  const sql = connect({ DATABASE_URL: database.url }, options);
  onTestFinished(() => sql.end());
  return sql;
}

async function pidOf(tx: { unsafe: Sql["unsafe"] }): Promise<number> {
  const [row] = await tx.unsafe("select pg_backend_pid() as pid");
  return Number(row?.["pid"]);
}

describe("a transaction", () => {
  test("a transaction fails with the error of the statement that failed, even if a later error arrives first", async () => {
    const sql = open();
    await sql`create table once (n int primary key)`;
    const insert = async (tx: Tx, n: number) => tx`insert into once values (${n})`;
    const together = () =>
      sql.begin((tx) =>
        Promise.all([
          // Awaited one microtask later than the other statements, as by a caller that passes on
          // the result of another.
          insert(tx, 1).then(async (rows) => rows),
          tx`select ${2}::int`,
        ]),
      );
    await together();
    await expect(together()).rejects.toMatchObject({ code: "23505" });
    await expect(together()).rejects.toMatchObject({ code: "23505" });
  });

  test("a transaction commits all of its changes, or none when its work throws", async () => {
    const sql = open();
    await sql`create table whole (n int)`;
    expect(await sql.begin(async (tx) => (await tx`insert into whole values (1)`).count)).toBe(1);
    const failing = sql.begin(async (tx) => {
      await tx`insert into whole values (2)`;
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await sql`select n from whole`).toEqual([{ n: 1 }]);
  });

  test("a transaction fails when a statement in it failed, even if the error was caught", async () => {
    const sql = open();
    const outcome = sql.begin((tx) => tx`select 1 / 0`.then(undefined, () => "caught"));
    await expect(outcome).rejects.toMatchObject({ code: "22012" });
  });

  test("a transaction has a connection of its own: other statements wait or use another one", async () => {
    const sql = open({ max: 2 });
    await sql.begin(async (tx) => {
      const [mine, others] = [await pidOf(tx), await pidOf(sql)];
      expect(others).not.toBe(mine);
    });
    const single = open({ max: 1 });
    const order: string[] = [];
    await Promise.all([
      single.begin(async (tx) => {
        await tx`select 1`;
        order.push("inside");
      }),
      pidOf(single).then(() => order.push("outside")),
    ]);
    expect(order).toEqual(["inside", "outside"]);
  });

  test("a transaction that has ended refuses a late statement", async () => {
    const sql = open();
    const late = await sql.begin(async (tx) => ({ run: () => tx`select 1` }));
    await expect(late.run()).rejects.toThrow("already ended");
  });

  test("a transaction refuses statements of one part of its work after another part has failed", async () => {
    const sql = open();
    await sql`create table parts (n int)`;
    const refused: unknown[] = [];
    const outcome = sql.begin((tx) =>
      Promise.all([
        (async () => {
          await tx`insert into parts values (1)`;
          await tx`insert into parts values (2)`.catch((error: unknown) => refused.push(error));
        })(),
        Promise.reject(new Error("no")),
      ]),
    );
    await expect(outcome).rejects.toThrow("no");
    await expect.poll(() => refused.length).toBe(1);
    expect(String(refused[0])).toContain("already ended");
    expect(await sql`select n from parts`).toEqual([]);
  });

  test("a transaction runs in the requested mode", async () => {
    const sql = open();
    const [row] = await sql.begin((tx) => tx`show transaction_read_only`, "read only");
    expect(row).toEqual({ transaction_read_only: "on" });
  });
});

describe("a transaction that begins by reading", () => {
  test("a transaction that begins by reading includes its first statement", async () => {
    const sql = open();
    await sql`create table read_first (n int)`;
    const outcome = sql.beginByReading(async (tx) => {
      await tx`insert into read_first values (1)`;
      await tx`insert into read_first values (2)`;
      throw new Error("no");
    });
    await expect(outcome).rejects.toThrow("no");
    expect(await sql`select n from read_first`).toEqual([]);
    await sql.beginByReading((tx) => tx`insert into read_first values (3)`);
    expect(await sql`select n from read_first`).toEqual([{ n: 3 }]);
  });

  test("a transaction that begins by reading takes one round trip less", async () => {
    const counted = await countRoundTrips(database.url);
    const sql = connect({ DATABASE_URL: counted.url });
    onTestFinished(() => sql.end());
    const work = async (tx: Tx) => {
      await tx`select 1`;
      await tx`select 2`;
    };
    await sql.begin(work);
    counted.taken();
    await sql.begin(work);
    expect(counted.taken()).toBe(4);
    await sql.beginByReading(work);
    expect(counted.taken()).toBe(3);
  });

  test("a transaction that begins by reading sends only its first statement if it cannot begin", async () => {
    const sql = open({ max: 1 });
    await sql`create table not_begun (n int)`;
    // In a failed transaction, the server refuses to begin another one.
    await sql.unsafe("begin");
    await expect(sql.unsafe("select 1 / 0")).rejects.toThrow();
    const seen: unknown[] = [];
    const outcome = sql.beginByReading(async (tx) => {
      const both = await Promise.allSettled([tx`select 1`, tx`insert into not_begun values (1)`]);
      seen.push(...both.map((each) => (each.status === "rejected" ? each.reason : "done")));
    });
    const error = await outcome.then(
      () => "done",
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: "25P02" });
    // The second statement has the error of `begin`, and not an error of its own.
    expect(seen[0]).not.toBe(error);
    expect(seen[1]).toBe(error);
    expect(await sql`select n from not_begun`).toEqual([]);
  });
});

describe("a value", () => {
  test("an array comes back unchanged, for every type that Carillon sends", async () => {
    const sql = open();
    const texts = [
      "plain",
      'quo"te',
      "back\\slash",
      "com,ma",
      "{brace}",
      "",
      "null",
      "NULL",
      "two\nlines",
      null,
    ];
    const instants = [new Date(0), new Date("2026-12-01T09:00:00.123Z")];
    const [row] =
      await sql`select ${texts}::text[] as texts, ${sql.array(instants)}::timestamptz[] as instants,
      ${[1, -2]}::int[] as numbers, ${["9007199254740993"]}::bigint[] as big, ${sql.array([true, false])}::bool[] as flags,
      array['{"a":[1]}', '"text"']::jsonb[] as documents, array[[1,2],[3,4]] as nested, ${[] as string[]}::text[] as none`;
    expect(row).toEqual({
      texts,
      instants,
      numbers: [1, -2],
      big: ["9007199254740993"],
      flags: [true, false],
      documents: [{ a: [1] }, "text"],
      nested: [
        [1, 2],
        [3, 4],
      ],
      none: [],
    });
  });

  test("an array is sent with the type that the server expects, also for an enum and json", async () => {
    const sql = open();
    await sql`create type colour as enum ('red', 'green')`;
    const dates = [new Date("2026-01-01T00:00:00Z"), null];
    const [row] =
      await sql`select ${["red", "green"]}::colour[]::text[] as colours, ${dates}::timestamptz[] as dates,
      ${[1, "two"]}::jsonb as document, ${[true, null]}::bool[] as flags, 2 = any(${[1, 2]}) as among`;
    expect(row).toEqual({
      colours: ["red", "green"],
      dates,
      document: [1, "two"],
      flags: [true, null],
      among: true,
    });
  });

  test("a json value keeps its keys, and a bigint is read as text", async () => {
    const sql = open();
    const document = { snake_case: { camelCase: 1 } };
    const [row] = await sql`select ${sql.json(document)}::jsonb as some_document, 9007199254740993 as big`;
    expect(row).toEqual({ some_document: document, big: "9007199254740993" });
  });

  test("fragments and helpers of the driver work through the pool too", async () => {
    const sql = open();
    await sql`create table helped (n int, label text)`;
    await sql`insert into helped ${sql([
      { n: 1, label: "one" },
      { n: 2, label: "two" },
    ])}`;
    const only = sql`where n = ${2}`;
    expect(await sql`select ${sql("label")} from helped ${only}`).toEqual([{ label: "two" }]);
  });
});

describe("connecting", () => {
  test("connecting fails with the name of a variable that is missing or wrong", () => {
    expect(() => connect({})).toThrow("DATABASE_HOST");
    const named = {
      DATABASE_HOST: "db",
      DATABASE_PORT: "5432",
      DATABASE_NAME: "carillon",
      DATABASE_USER: "carillon_tick",
    };
    expect(() => connect({ ...named })).toThrow("DATABASE_AUTH");
    expect(() => connect({ ...named, DATABASE_AUTH: "password" })).toThrow('it takes "iam"');
    expect(() => connect({ DATABASE_URL: "mysql://db/x" })).toThrow("postgres://");
    expect(() => connect({ DATABASE_URL: "postgres://db/x?sslmode=prefer" })).toThrow("verify-full");
  });

  test("an unreachable server rejects each statement with its cause", async () => {
    const sql = connect({ DATABASE_URL: "postgres://127.0.0.1:1/none" });
    await expect(sql`select 1`).rejects.toMatchObject({
      name: "ConnectionLost",
      cause: { code: "ECONNREFUSED" },
    });
    await expect(sql.begin((tx) => tx`select 1`)).rejects.toThrow(ConnectionLost);
    await sql.end();
  });

  test("a database that does not exist rejects each statement with the server's own error", async () => {
    const url = new URL(database.url);
    url.pathname = "/no_such_database";
    const sql = connect({ DATABASE_URL: url.href });
    await expect(sql`select 1`).rejects.toMatchObject({ code: "3D000" });
    await sql.end();
  });

  test("a closed pool refuses further statements", async () => {
    const sql = connect({ DATABASE_URL: database.url });
    await sql`select 1`;
    await sql.end();
    await expect(sql`select 1`).rejects.toThrow("closed");
  });

  test("a connection behind a proxy or a pooler prepares no statement by name", async () => {
    const sql = connect({ DATABASE_URL: database.url, DATABASE_PREPARE: "off" });
    onTestFinished(() => sql.end());
    await sql`select ${1}::int`;
    expect(await sql`select name from pg_prepared_statements`).toEqual([]);
  });
});
