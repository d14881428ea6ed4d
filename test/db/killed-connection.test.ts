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

/**
 * Ends a connection as a failover or an administrator does, and waits until the server has removed
 * it.
 */
async function kill(killer: Sql, pid: number): Promise<void> {
  await killer`select pg_terminate_backend(${pid}, 5000)`;
}

describe("a connection that is killed", () => {
  test("a connection that is killed while it idles in the pool is replaced at the next statement", async () => {
    const [sql, killer] = [open(), open()];
    const first = await pidOf(sql);
    await kill(killer, first);
    const second = await untilSucceeds(() => pidOf(sql));
    expect(second).not.toBe(first);
  });

  test("a killed connection rejects the running statement once, without an unhandled rejection", async () => {
    const [sql, killer] = [open(), open()];
    const pid = await pidOf(sql);
    const outcome = expect(sql`select pg_sleep(30)`).rejects.toThrow(ConnectionLost);
    await untilRunning(killer, pid);
    await kill(killer, pid);
    await outcome;
    expect(await pidOf(sql)).not.toBe(pid);
  });

  test("a killed connection rejects every statement that was pipelined behind the running one", async () => {
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

  test("a transaction whose idle connection is killed refuses its later statements, and never runs them on another connection", async () => {
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

  test("a transaction whose connection is killed fails even if its work swallows the error", async () => {
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

  test("connections that are killed again and again under load lose no confirmed row and cause no unhandled rejection", async () => {
    const [sql, killer] = [open({ max: 3, applicationName: "victim" }), open()];
    await sql`create table kept (n int)`;
    let working = true;
    const killing = (async () => {
      while (working) {
        await killer`
          select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'victim' and datname = current_database()`;
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

async function untilRunning(watcher: Sql, pid: number): Promise<void> {
  await untilTrue(
    watcher,
    (sql) => sql`select 1 from pg_stat_activity where pid = ${pid} and state = 'active'`,
  );
}

/**
 * Waits until this process has noticed the lost connection too: then a statement on it fails at
 * once.
 */
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

async function untilTrue(watcher: Sql, check: (sql: Sql) => PromiseLike<readonly unknown[]>): Promise<void> {
  while ((await check(watcher)).length === 0);
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
