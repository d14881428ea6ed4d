import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { readForeignLocks } from "../../lib/db/foreign-locks.ts";
import type { Measured } from "../../lib/log/metrics.ts";
import { heldMs, reportForeignLocks } from "../../lib/tick/foreign-locks.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { type RecordedLog, recordedLog } from "../support/recorded-log.ts";
import { connectAsMember } from "../support/role-logins.ts";

let database: TestDatabase;
let owner: Sql;
let tick: Sql;
let log: RecordedLog;
let written: Measured[];

beforeEach(async () => {
  database = await testDatabase();
  owner = connect({ DATABASE_URL: database.url });
  tick = await connectAsMember(owner, database.url, "carillon_tick");
  log = recordedLog();
  written = [];
});
afterEach(async () => {
  await tick.end();
  await owner.end();
  await database.drop();
});

interface Session {
  pid: number;
  user: string;
  run(text: string): Promise<unknown>;
}

let logins = 0;

/** A session of a login that is none of Carillon's; it runs these statements. */
async function sessionOf(sql: Sql): Promise<Session> {
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<Session>();
  const done = sql.alone(async (line) => {
    const [row] = await line<{ pid: number; user: string }[]>`
      select pg_backend_pid() as pid, session_user::text as "user"`;
    if (row === undefined) throw new Error("The session has no process.");
    opened.resolve({ ...row, run: (text) => line.unsafe(text).execute() });
    await over;
  });
  onTestFinished(async () => {
    end();
    await done;
    await sql.end();
  });
  return opened.promise;
}

async function foreignSession(): Promise<Session> {
  const name = `app_${database.name}_${++logins}`;
  await owner.unsafe(`create role ${name} login password 'test'`);
  const url = new URL(database.url);
  url.username = name;
  url.password = "test";
  return sessionOf(connect({ DATABASE_URL: url.href }));
}

/** Looks for locks, with something between the two looks. */
async function report(between: () => Promise<unknown> = async () => {}): Promise<number[]> {
  const slept: number[] = [];
  const sleep = async (ms: number) => {
    slept.push(ms);
    await between();
  };
  const metrics = { write: (measured: Measured) => void written.push(measured) };
  await reportForeignLocks({ sql: tick, log, metrics, timing: { now: () => 0, sleep } });
  return slept;
}

test("A session of another program that keeps locks of Carillon is logged with its process, user, classes and age, and counted", async () => {
  const app = await foreignSession();
  await app.run("select pg_advisory_lock(7, 0), pg_advisory_lock_shared(2, s) from generate_series(0, 9) s");
  expect(await report()).toEqual([heldMs]);
  expect(log.lines).toEqual([
    {
      level: "error",
      event: "tick.foreign-locks",
      fields: {
        user: app.user,
        locks: "gates of edits (2), commands (7)",
        pid: app.pid,
        prepared: null,
        openMs: expect.any(Number),
      },
    },
  ]);
  expect(written).toEqual([{ ForeignLocks: 1 }]);
});

test("A lock of another program that is gone at the second look is not reported, and without any lock there is no second look", async () => {
  const app = await foreignSession();
  await app.run("select pg_advisory_lock(2, 1)");
  expect(await report(() => app.run("select pg_advisory_unlock_all()"))).toEqual([heldMs]);
  expect(await report()).toEqual([]);
  expect({ written, lines: log.lines }).toEqual({ written: [], lines: [] });
});

test("A lock in a transaction is reported with the age of the transaction, not that of the session", async () => {
  const app = await foreignSession();
  await app.run("begin; select pg_advisory_xact_lock(1, 3)");
  const [found] = await readForeignLocks(tick);
  const [seen] = await owner<
    { since: Date }[]
  >`select xact_start as since from pg_stat_activity where pid = ${app.pid}`;
  expect(found).toMatchObject({ classes: [1], since: seen?.since });
  await app.run("rollback");
});

test("Locks of Carillon's functions and of the owner are not reported", async () => {
  const worker = await sessionOf(await connectAsMember(owner, database.url, "carillon_worker"));
  await worker.run("select pg_advisory_lock(2, 1)");
  const migration = await sessionOf(connect({ DATABASE_URL: database.url }));
  await migration.run("select pg_advisory_lock(8, 0)");
  expect(await readForeignLocks(tick)).toEqual([]);
});

test("Locks of other classes, with one number, and of another database are not reported", async () => {
  const app = await foreignSession();
  await app.run(
    "select pg_advisory_lock(99, 0), pg_advisory_lock(0, 2), pg_advisory_lock((2::bigint << 32) + 1)",
  );
  const other = await testDatabase();
  onTestFinished(() => other.drop());
  const url = new URL(other.url);
  url.username = app.user;
  url.password = "test";
  const elsewhere = await sessionOf(connect({ DATABASE_URL: url.href }));
  await elsewhere.run("select pg_advisory_lock(2, 1)");
  expect(await readForeignLocks(tick)).toEqual([]);
});

test("A prepared transaction that keeps a lock of Carillon is reported by its name", async () => {
  const gid = `kept_${database.name}`;
  const app = await foreignSession();
  await app.run(`begin; select pg_advisory_xact_lock(2, 3); prepare transaction '${gid}'`);
  await report();
  expect(log.lines).toMatchObject([{ fields: { user: app.user, pid: null, prepared: gid } }]);
  await app.run(`rollback prepared '${gid}'`);
  expect(await readForeignLocks(tick)).toEqual([]);
});

test("A session is reported without its age where the owner of the tables may not see it", async () => {
  const plain = `plain_${database.name}`;
  await owner.unsafe(`create role ${plain}; alter function carillon.foreign_locks owner to ${plain}`);
  const app = await foreignSession();
  await app.run("select pg_advisory_lock(2, 1)");
  await report();
  expect(log.lines).toMatchObject([{ fields: { user: app.user, pid: app.pid, openMs: null } }]);
});

test("A look that fails is logged, and does not fail the tick", async () => {
  await owner`drop function carillon.foreign_locks`;
  await report();
  expect(log.lines.map(({ level, event }) => [level, event])).toEqual([["warn", "tick.locks-unread"]]);
});
