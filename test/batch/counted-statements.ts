import type { Sql } from "../../lib/db/connect.ts";
import { connectThrough, textOf } from "../race/lines.ts";

export interface Counting {
  sql: Sql;
  /** The statements sent to the server since the last call, `begin` and `commit` included. */
  taken(): string[];
}

/** Connects as the functions do, with one connection, and records each statement. */
export function countStatements(databaseUrl: string): Counting {
  let sent: string[] = [];
  const sql = connectThrough(databaseUrl, (line) => ({
    ...line,
    run: (statement) => {
      sent.push(textOf(statement));
      line.run(statement);
    },
  }));
  return {
    sql,
    taken: () => {
      const since = sent;
      sent = [];
      return since;
    },
  };
}
