import { type Line, openLine } from "../../lib/db/line.ts";
import { makePool } from "../../lib/db/pool.ts";
import { makeSql, type Sql, type Watch } from "../../lib/db/sql.ts";
import { sqlState } from "../../lib/db/sql-state.ts";
import { isStatement, type Statement } from "../../lib/db/statement.ts";

/**
 * `onLost` reports to the pool that the connection is lost; code that closes it without the driver
 * must call it.
 */
export type WrapLine = (line: Line, onLost: () => void) => Line;

/**
 * Connects as the functions do, with every connection wrapped. Every statement to the server passes
 * here one at a time, including `begin` and `commit`, and can be counted, recorded, cut off or
 * changed without the product's knowledge.
 */
export function connectThrough(
  url: string,
  wrap: WrapLine,
  {
    max = 1,
    applicationName = "race",
    watch,
  }: { max?: number; applicationName?: string; watch?: Watch } = {},
): Sql {
  const { hostname, port, pathname, username, password } = new URL(url);
  const login = {
    host: hostname,
    port: Number(port),
    database: pathname.slice(1),
    user: decodeURIComponent(username),
    password: () => decodeURIComponent(password),
    tls: false,
    applicationName,
    keepsPlans: true,
    connectMs: 3_000,
    answerMs: null,
  };
  return makeSql(
    makePool((onLost) => wrap(openLine(login, onLost), onLost), { max, idleMs: 30_000 }),
    { watch },
  );
}

/** The statement as it was written, with its fragments and a `?` for each value. */
export function textOf(statement: Statement): string {
  const parts: unknown = Reflect.get(statement, "strings");
  if (!Array.isArray(parts)) return "";
  const values = valuesOf(statement);
  return parts.map((part, index) => `${part}${between(values[index], index < parts.length - 1)}`).join("");
}

function between(value: unknown, exists: boolean): string {
  if (!exists) return "";
  return isStatement(value) ? textOf(value) : "?";
}

export function valuesOf(statement: Statement): unknown[] {
  const values: unknown = Reflect.get(statement, "args");
  return Array.isArray(values) ? values : [];
}

/** Completes a statement successfully without sending it to the server. */
export function answer(statement: Statement, rows: unknown): void {
  const resolve: unknown = Reflect.get(statement, "resolve");
  if (typeof resolve !== "function")
    throw new Error("This version of the driver does not allow answers from outside.");
  Reflect.apply(resolve, statement, [rows]);
}

/**
 * Calls `onAnswer` instead of passing the server's answer to the caller; the returned function
 * passes it on.
 */
export function holdAnswer(statement: Statement, onAnswer: () => void): () => void {
  const resolve: unknown = Reflect.get(statement, "resolve");
  if (typeof resolve !== "function")
    throw new Error("This version of the driver does not allow answers from outside.");
  let rows: unknown;
  Reflect.set(statement, "resolve", (answered: unknown) => {
    rows = answered;
    onAnswer();
  });
  return () => Reflect.apply(resolve, statement, [rows]);
}

/** Records the SQL state of every failed statement, even when a retry succeeds. */
export const notingFailures =
  (states: unknown[]): WrapLine =>
  (line) => ({
    ...line,
    run: (statement) => {
      line.run(statement);
      statement.then(undefined, (error: unknown) => states.push(sqlState(error)));
    },
  });
