import { afterEach, beforeEach, expect, test } from "vitest";
import type { Sql } from "../../lib/db/connect.ts";
import { handlerTransaction } from "../../lib/target/handler-transaction.ts";
import { AttemptStopped, Stop } from "../../lib/target/stop.ts";
import { connectThrough } from "../race/lines.ts";
import { type Held, heldBefore } from "../race/stage.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let database: TestDatabase;
let held: Held;
let pool: Sql;

beforeEach(async () => {
  database = await testDatabase();
  held = heldBefore("begin");
  pool = connectThrough(database.url, held.wrap);
});

afterEach(async () => {
  await pool.end();
  await database.drop();
});

const late = new AttemptStopped("timeout", "It took too long.");
const stopped = { message: expect.stringContaining("The attempt was stopped") };

test("a handler is told that its statement was refused when its attempt was stopped before the transaction began", async () => {
  // Else the handler goes on as if what it wrote were there, and it is undone.
  const stop = new Stop();
  const transaction = handlerTransaction(pool, stop);
  const answer = transaction.sql`select 'written'`.then(
    () => "the statement was sent",
    (error: unknown) => error,
  );
  await held.reached;
  stop.come(late);
  held.go();
  expect(await answer).toMatchObject(stopped);
  await transaction.rollBack();
});

test("ctx.sql begins no transaction for an attempt that was stopped already", async () => {
  // Else a handler that does not heed its stop keeps a connection and locks, and nothing is there to end them.
  const stop = new Stop();
  const transaction = handlerTransaction(pool, stop);
  stop.come(late);
  held.go();
  await expect(transaction.sql`select 'written'`).rejects.toMatchObject(stopped);
  expect(transaction.isOpen()).toBe(false);
});

test("a job is not settled in its own transaction once its attempt was stopped", async () => {
  // Else the job is done and has failed as well: its worker has told of the stop, and tries it again.
  const stop = new Stop();
  const transaction = handlerTransaction(pool, stop);
  stop.come(late);
  held.go();
  await expect(transaction.commit(async () => "settled")).rejects.toMatchObject(stopped);
});
