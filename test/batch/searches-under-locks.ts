import { Session } from "node:inspector";
import type { Sql } from "../../lib/db/connect.ts";
import { connectThrough, textOf } from "../race/lines.ts";

export interface Watched {
  sql: Sql;
  /** The statements sent since the last call. */
  taken(): string[];
  /** Number of calendar days visited since the last call, while the locks were held. */
  looksInside(): number;
  stop(): Promise<void>;
}

/** The statements between which locks are held that others wait for. */
interface Held {
  from: RegExp;
  to: RegExp;
}

/** For an edit in its own transaction. */
const ownTransaction: Held = { from: /^begin/, to: /^(commit|rollback)$/ };
/** For edits in a handler's transaction. */
export const handlersTransaction: Held = { from: /^savepoint/, to: /^(commit|rollback.*|release.*)$/ };

/**
 * Connects as the functions do, with one connection, and counts the calendar searches while locks
 * are held.
 */
export function watchSearches(databaseUrl: string, held: Held = ownTransaction): Watched {
  const looks = countLooks();
  const sent: string[] = [];
  let inside = 0;
  const sql = connectThrough(databaseUrl, (line) => ({
    ...line,
    run: (statement) => {
      const text = textOf(statement).trim();
      sent.push(text);
      const since = looks.since();
      if (isOpen) inside += since;
      if (held.from.test(text)) isOpen = true;
      if (held.to.test(text)) isOpen = false;
      line.run(statement);
    },
  }));
  let isOpen = false;
  return {
    sql,
    taken: () => sent.splice(0),
    looksInside: () => {
      const counted = inside;
      inside = 0;
      return counted;
    },
    stop: async () => {
      looks.stop();
      await sql.end();
    },
  };
}

/** V8 counts the calls of each function. This sums those of the two loops of a calendar search. */
export function countLooks(): { since: () => number; stop: () => void } {
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  return {
    since: () => {
      let calls = 0;
      session.post("Profiler.takePreciseCoverage", (error, answer) => {
        if (error !== null) throw new Error(error.message);
        for (const { url, functions } of answer.result) {
          if (!url.endsWith("lib/cadence/calendar-rules.ts")) continue;
          for (const { functionName, ranges } of functions)
            if (/^(isExcluded|nextAllowedDay)$/.test(functionName)) calls += ranges[0]?.count ?? 0;
        }
      });
      return calls;
    },
    stop: () => session.disconnect(),
  };
}
