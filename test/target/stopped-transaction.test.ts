import { afterEach, beforeEach, expect, test } from "vitest";
import type { Sql } from "../../lib/db/connect.ts";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import type { Statement } from "../../lib/db/statement.ts";
import { handlerTransaction } from "../../lib/target/handler/handler-transaction.ts";
import { AttemptStopped, Stop } from "../../lib/target/stop.ts";
import { connectThrough, textOf, type WrapLine } from "../race/lines.ts";
import { type Held, heldBefore } from "../race/stage.ts";
import { neverRings } from "../support/aborted.ts";
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

test("a handler's statement is refused if its attempt was stopped before the transaction began", async () => {
  // Otherwise the handler goes on as if its writes existed, and they are rolled back.
  const stop = new Stop();
  const transaction = handlerTransaction(pool, stop, { alarm: neverRings });
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
  // Otherwise a handler that ignores its stop keeps a connection and locks, and nothing ends them.
  const stop = new Stop();
  const transaction = handlerTransaction(pool, stop, { alarm: neverRings });
  stop.come(late);
  held.go();
  await expect(transaction.sql`select 'written'`).rejects.toMatchObject(stopped);
  expect(transaction.isOpen()).toBe(false);
});

test("a job is not settled in its own transaction once its attempt was stopped", async () => {
  // Otherwise the job has both succeeded and failed: its worker has reported the stop, and retries
  // it.
  const stop = new Stop();
  const transaction = handlerTransaction(pool, stop, { alarm: neverRings });
  stop.come(late);
  held.go();
  await expect(transaction.commit(async () => "settled")).rejects.toMatchObject(stopped);
});

/** Makes the server of the first connection silent, from the statement with this text on. */
function silentFrom(text: string): { wrap: WrapLine; reached: Promise<void> } {
  const sent: Statement[] = [];
  const reached = Promise.withResolvers<void>();
  let isFirst = true;
  const wrap: WrapLine = (line) => {
    const isOwn = isFirst;
    isFirst = false;
    return {
      ...line,
      run: (statement) => {
        if (!isOwn || (sent.length === 0 && !textOf(statement).startsWith(text))) return line.run(statement);
        sent.push(statement);
        reached.resolve();
      },
      cut: (why) => {
        line.cut(why);
        for (const statement of sent) statement.reject(new ConnectionLost(why));
      },
    };
  };
  return { wrap, reached: reached.promise };
}

test.each(["begin", "select 1", "rollback"])(
  "a connection that leaves `%s` unanswered is cut, once the attempt is over and the time for the rollback is up",
  async (unanswered) => {
    // Otherwise a server that went away silently keeps the connection borrowed, and two of them
    // stop every handler that uses ctx.sql.
    const alarms: (() => void)[] = [];
    const alarm = (_ms: number, ring: () => void) => {
      alarms.push(ring);
      return () => {};
    };
    const silent = silentFrom(unanswered);
    const own = connectThrough(database.url, silent.wrap);
    const stop = new Stop();
    const transaction = handlerTransaction(own, stop, { alarm });
    const first = transaction.sql`select 1`.then(
      () => "answered",
      () => "refused",
    );
    await (unanswered === "rollback" ? first : silent.reached);
    stop.come(late);
    await silent.reached;
    const undone = transaction.rollBack();
    for (const ring of alarms) ring();
    await undone;

    const next = handlerTransaction(own, new Stop(), { alarm });
    expect(await next.sql`select 'the next job'`).toHaveLength(1);
    await next.rollBack();
    await own.end();
  },
);
