import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import type { Measured } from "../../lib/log/metrics.ts";
import { measureTick, oldestTransactionMs } from "../../lib/tick/housekeeping/measure.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { recordedLog } from "../support/recorded-log.ts";
import { connectAsMember } from "../support/role-logins.ts";

let database: TestDatabase;
let owner: Sql;
let tick: Sql;

beforeEach(async () => {
  database = await testDatabase();
  owner = connect({ DATABASE_URL: database.url });
  tick = await connectAsMember(owner, database.url, "carillon_tick");
});
afterEach(async () => {
  await tick.end();
  await owner.end();
  await database.drop();
});

/** An idle transaction of another role. */
async function someoneElses(): Promise<{ pid: number; end(): Promise<void> }> {
  const worker = await connectAsMember(owner, database.url, "carillon_worker");
  onTestFinished(() => worker.end());
  const opened = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<void>();
  const over = worker.begin(async (tx) => {
    const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
    opened.resolve(row?.pid ?? 0);
    await ended.promise;
  });
  const end = () => {
    ended.resolve();
    return over;
  };
  return { pid: await opened.promise, end };
}

const ageOf = async (pid: number) => {
  const [row] = await owner<{ ms: string }[]>`
    select floor(extract(epoch from clock_timestamp() - xact_start) * 1000)::bigint as ms from pg_stat_activity where pid = ${pid}`;
  return Number(row?.ms);
};

test("The tick gets the age of another role's transaction, although it cannot see that transaction itself", async () => {
  expect(await oldestTransactionMs(tick)).toBe(0);
  const other = await someoneElses();
  const seen = await tick`select xact_start from pg_stat_activity where pid = ${other.pid}`;
  expect(seen).toEqual([{ xact_start: null }]);

  const before = await ageOf(other.pid);
  const told = await oldestTransactionMs(tick);
  expect(told).toBeGreaterThanOrEqual(before);
  // The database rounds, and this query truncates.
  expect(told).toBeLessThanOrEqual((await ageOf(other.pid)) + 1);
  await other.end();
  expect(await oldestTransactionMs(tick)).toBe(0);
});

test("A prepared transaction counts, although it has no session any more", async () => {
  const gid = `held_${database.name}`;
  const session = connect({ DATABASE_URL: database.url });
  await session.alone(async (line) => {
    await line.unsafe(`begin; create table carillon.held (n int); prepare transaction '${gid}'`);
  });
  await session.end();
  expect(await oldestTransactionMs(tick)).toBeGreaterThan(0);
  await owner.unsafe(`rollback prepared '${gid}'`);
  expect(await oldestTransactionMs(tick)).toBe(0);
});

test("The age of the oldest transaction is in the tick's metrics, and is left out with a warning if it is hidden", async () => {
  const written: Measured[] = [];
  const log = recordedLog();
  const deps = { sql: tick, log, metrics: { write: (measured: Measured) => void written.push(measured) } };
  const other = await someoneElses();
  await measureTick(deps, { rolledUp: undefined, ms: 1 });
  expect(written[0]).toMatchObject({
    OldestTransactionMs: expect.any(Number),
    PlanLagMs: expect.any(Number),
  });
  expect(log.lines).toEqual([]);

  // As if the owner had no right to see other sessions.
  const plain = `plain_${database.name}`;
  await owner.unsafe(
    `create role ${plain}; alter function carillon.oldest_transaction_ms() owner to ${plain}`,
  );
  await measureTick(deps, { rolledUp: undefined, ms: 1 });
  expect(written[1]).toHaveProperty("PlanLagMs");
  expect(written[1]).not.toHaveProperty("OldestTransactionMs");
  expect(log.lines.map(({ event }) => event)).toEqual(["tick.transactions-hidden"]);
  await other.end();
});
