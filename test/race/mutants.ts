import type { Sql } from "../../lib/db/connect.ts";
import type { Line } from "../../lib/db/line.ts";
import { type gate, planLock } from "../../lib/db/locks.ts";
import { isStatement, type Statement } from "../../lib/db/statement.ts";
import { answer, holdAnswer, textOf, valuesOf, type WrapLine } from "./lines.ts";

/** Answers the locks of a kind without taking them. */
export function withoutLock(kind: { lockClass: typeof planLock | typeof gate; shared: boolean }): WrapLine {
  return (line) => ({
    ...line,
    run: (statement) => (isLock(statement, kind) ? answer(statement, []) : line.run(statement)),
  });
}

function isLock(
  statement: Statement,
  { lockClass, shared }: { lockClass: number; shared: boolean },
): boolean {
  const name = shared ? "pg_advisory_xact_lock_shared(" : "pg_advisory_xact_lock(";
  return textOf(statement).includes(name) && valuesOf(statement)[0] === lockClass;
}

/** Answers the statements that contain a text without running them. */
export function withoutStatement(piece: string): WrapLine {
  return (line) => ({
    ...line,
    run: (statement) => (textOf(statement).includes(piece) ? answer(statement, []) : line.run(statement)),
  });
}

/** Takes shards without trying their locks. */
export function withoutTrying(): WrapLine {
  return (line) => ({
    ...line,
    run: (statement) => {
      rewrite(statement, (text) => text.replaceAll("pg_try_advisory_xact_lock(", "0 <= greatest("));
      line.run(statement);
    },
  });
}

/**
 * Reads the shard's watermark from a snapshot older than the lock, as a single statement for both
 * would.
 */
export function watermarkBeforeLock(shared: boolean): WrapLine {
  return (line) => {
    let lock: Statement | undefined;
    return {
      ...line,
      run: (statement) => {
        if (isLock(statement, { lockClass: planLock, shared })) {
          lock = statement;
          answer(statement, []);
        } else if (lock !== undefined && textOf(statement).includes("from carillon.shards where id")) {
          readThenLock(line, statement, lock);
          lock = undefined;
        } else line.run(statement);
      },
    };
  };
}

function readThenLock(line: Line, read: Statement, lock: Statement): void {
  const answerRead = holdAnswer(read, () => {
    holdAnswer(lock, () => answerRead());
    // When a connection is cut while it waits for the lock, the transaction ends, and the pending
    // read must be rejected with it.
    lock.reject = (reason) => read.reject(reason);
    line.run(lock);
  });
  line.run(read);
}

/** Raises the watermark in another transaction than the one that inserts the jobs. */
export function watermarkApart(side: Sql): WrapLine {
  return (line) => ({
    ...line,
    run: (statement) => {
      if (!textOf(statement).includes("set watermark_at")) return line.run(statement);
      const [at, schedule, reached, shard] = valuesOf(statement);
      side
        .unsafe(
          `update carillon.shards set watermark_at = $1, watermark_schedule = $2::text::bigint, reached_at = greatest(reached_at, $3) where id = $4::int`,
          [instant(at), String(schedule), instant(reached), Number(shard)],
        )
        .then(
          () => answer(statement, []),
          (error: unknown) => statement.reject(error),
        );
    },
  });
}

function instant(value: unknown): Date {
  if (value instanceof Date) return value;
  throw new Error("The tick no longer raises the watermark as this mutant expects.");
}

/**
 * Ends a tick's batch at a number of rows, even between two rows with the same due time and
 * schedule.
 */
export function limitInsteadOfTies(): WrapLine {
  return (line) => ({
    ...line,
    run: (statement) => {
      rewrite(statement, (text) => text.replaceAll("rows with ties", "rows only"));
      line.run(statement);
    },
  });
}

function rewrite(statement: Statement, change: (text: string) => string): void {
  const changed = statement.strings.map(change);
  // The driver recognises a template by the `raw` of its strings: without it the statement would
  // count as text with parameters beside it.
  statement.strings = "raw" in statement.strings ? Object.assign(changed, { raw: changed }) : changed;
  for (const value of valuesOf(statement)) if (isStatement(value)) rewrite(value, change);
}

/** Every transaction of a connection sees only the state at its beginning. */
export function oneSnapshot(side: Sql): WrapLine {
  return (line) => {
    const setting: unknown = side.unsafe(
      "set session characteristics as transaction isolation level repeatable read",
    );
    if (!isStatement(setting)) throw new Error("The driver's statements have changed.");
    // Sent from here: its own handler would send it after the statement that opened this
    // connection.
    setting.handler = () => {};
    setting.then(
      () => {},
      () => {},
    );
    line.run(setting);
    return line;
  };
}

/**
 * Redefines one of the worker's functions in this database, with a piece of its text removed or
 * replaced.
 */
export async function replaceIn(
  sql: Sql,
  name:
    | "claim_parcel"
    | "claim_parcels"
    | "claim_company"
    | "plain_jobs"
    | "settle_parcel"
    | "settle_parcels"
    | "write_successes",
  piece: string,
  instead: string,
): Promise<void> {
  const [row] = await sql<{ definition: string }[]>`
    select pg_get_functiondef(oid) as definition from pg_proc where proname = ${name} and pronamespace = 'carillon'::regnamespace`;
  if (row === undefined || !row.definition.includes(piece))
    throw new Error(`carillon.${name} no longer contains "${piece}".`);
  await sql.unsafe(row.definition.replaceAll(piece, instead));
}

/** Lets workers claim parcels with a live lease. */
export async function claimLeased(sql: Sql): Promise<void> {
  await replaceIn(sql, "claim_parcel", "v_leased_until >= v_now", "false");
  await replaceIn(sql, "claim_parcel", "and p.lease_until is null", "");
}
