import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type ConnectOptions, connect, type Sql } from "../../lib/db/connect.ts";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

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

/** Ends a connection as a failover or an administrator does, and waits until the server has forgotten it. */
async function kill(killer: Sql, pid: number): Promise<void> {
  await killer`select pg_terminate_backend(${pid}, 5000)`;
}

describe("a connection that is killed", () => {
  test("while it idles in the pool is replaced at the next statement", async () => {
    const [sql, killer] = [open(), open()];
    const first = await pidOf(sql);
    await kill(killer, first);
    const second = await untilSucceeds(() => pidOf(sql));
    expect(second).not.toBe(first);
  });

  test("rejects the statement under way, once, and nothing is left unhandled", async () => {
    const [sql, killer] = [open(), open()];
    const pid = await pidOf(sql);
    const outcome = expect(sql`select pg_sleep(30)`).rejects.toThrow(ConnectionLost);
    await untilRunning(killer, pid);
    await kill(killer, pid);
    await outcome;
    expect(await pidOf(sql)).not.toBe(pid);
  });

  test("rejects every statement that was pipelined behind the one under way", async () => {
    const [sql, killer] = [open(), open()];
    const pid = await pidOf(sql);
    const outcomes = Promise.allSettled([
      sql`select pg_sleep(30)`,
      ...[1, 2, 3].map((n) => sql`select ${n}::int`),
      ...[4, 5].map(() => sql`select 1`),
    ]);
    await untilRunning(killer, pid);
    await kill(killer, pid);
    expect((await outcomes).map((outcome) => outcome.status)).toEqual(Array(6).fill("rejected"));
  });

  test("idle in a transaction refuses what the transaction still sends, and never runs it elsewhere", async () => {
    const [sql, killer] = [open({ max: 1 }), open()];
    await sql`create table outside (n int)`;
    const outcome = sql.begin(async (tx) => {
      await kill(killer, await pidOf(tx));
      await untilGone(killer, tx);
      await tx`insert into outside values (1)`;
    });
    await expect(outcome).rejects.toThrow(ConnectionLost);
    expect(await sql`select n from outside`).toEqual([]);
  });

  test("in a transaction that swallows the error still fails the transaction", async () => {
    const [sql, killer] = [open(), open()];
    await sql`create table swallowed (n int)`;
    const outcome = sql.begin(async (tx) => {
      await tx`insert into swallowed values (1)`;
      const pid = await pidOf(tx);
      const sleeping = tx`select pg_sleep(30)`.catch(() => "swallowed");
      await untilRunning(killer, pid);
      await kill(killer, pid);
      await sleeping;
      await Promise.allSettled([tx`insert into swallowed values (2)`, tx`insert into swallowed values (3)`]);
    });
    await expect(outcome).rejects.toThrow(ConnectionLost);
    expect(await sql`select n from swallowed`).toEqual([]);
  });

  test("again and again, under load, loses no answer and leaves nothing unhandled", async () => {
    const [sql, killer] = [open({ max: 3, applicationName: "victim" }), open()];
    await sql`create table kept (n int)`;
    let working = true;
    const killing = (async () => {
      while (working) {
        await killer`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim'`;
      }
    })();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 300 }, async (_, n) => {
        if (n % 2 === 0) return sql`insert into kept values (${n})`;
        return sql.begin(async (tx) => {
          await tx`insert into kept values (${n})`;
          await tx`select ${n}::int`;
        });
      }),
    );
    working = false;
    await killing;
    const kept = await untilSucceeds(() => sql<{ n: number }[]>`select n from kept`);
    const rows = new Set(kept.map((row) => row.n));
    const confirmed = outcomes.flatMap((outcome, n) => (outcome.status === "fulfilled" ? [n] : []));
    expect(confirmed.filter((n) => !rows.has(n))).toEqual([]);
    expect(outcomes.length).toBe(300);
  });
});

describe("a transaction", () => {
  test("commits what it did, or nothing when its work throws", async () => {
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

  test("fails when a statement in it failed, even if the error was caught", async () => {
    const sql = open();
    const outcome = sql.begin((tx) => tx`select 1 / 0`.then(undefined, () => "caught"));
    await expect(outcome).rejects.toMatchObject({ code: "22012" });
  });

  test("has a connection to itself: statements outside wait or go elsewhere", async () => {
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

  test("that has ended refuses a statement that nobody awaited in time", async () => {
    const sql = open();
    const late = await sql.begin(async (tx) => ({ run: () => tx`select 1` }));
    await expect(late.run()).rejects.toThrow("already ended");
  });

  test("runs in the mode that was asked for", async () => {
    const sql = open();
    const [row] = await sql.begin((tx) => tx`show transaction_read_only`, "read only");
    expect(row).toEqual({ transaction_read_only: "on" });
  });
});

describe("values", () => {
  test("arrays of every kind that Carillon sends come back as they were", async () => {
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

  test("arrays go by the type that the server expects, also of an enum and of json", async () => {
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

  test("keys inside json stay as they are, and bigint is text", async () => {
    const sql = open();
    const document = { snake_case: { camelCase: 1 } };
    const [row] = await sql`select ${sql.json(document)}::jsonb as some_document, 9007199254740993 as big`;
    expect(row).toEqual({ some_document: document, big: "9007199254740993" });
  });

  test("fragments and helpers of the driver work through the pool", async () => {
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
  test("names the variable that is missing or wrong", () => {
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

  test("to a server that is not there rejects each statement with its cause", async () => {
    const sql = connect({ DATABASE_URL: "postgres://127.0.0.1:1/none" });
    await expect(sql`select 1`).rejects.toMatchObject({
      name: "ConnectionLost",
      cause: { code: "ECONNREFUSED" },
    });
    await expect(sql.begin((tx) => tx`select 1`)).rejects.toThrow(ConnectionLost);
    await sql.end();
  });

  test("to a database that does not exist rejects with the server's own error", async () => {
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

  test("an application sees no session state: no statement is kept by name", async () => {
    const sql = open();
    await sql`select ${1}::int`;
    expect(await sql`select name from pg_prepared_statements`).toEqual([]);
  });
});

async function untilRunning(watcher: Sql, pid: number): Promise<void> {
  await untilTrue(
    watcher,
    (sql) => sql`select 1 from pg_stat_activity where pid = ${pid} and state = 'active'`,
  );
}

/** Waits until this process, too, has heard that the connection is gone: then a statement on it fails at once. */
async function untilGone(watcher: Sql, tx: { unsafe: Sql["unsafe"] }): Promise<void> {
  for (;;) {
    await watcher`select 1`;
    const alive = await tx.unsafe("select 1").then(
      () => true,
      () => false,
    );
    if (!alive) return;
  }
}

async function untilTrue(watcher: Sql, ask: (sql: Sql) => PromiseLike<readonly unknown[]>): Promise<void> {
  while ((await ask(watcher)).length === 0);
}

async function untilSucceeds<T>(attempt: () => PromiseLike<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    }
  }
}
