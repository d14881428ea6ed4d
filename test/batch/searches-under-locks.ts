import { Session } from "node:inspector";
import type { Sql } from "../../lib/db/connect.ts";
import { connectThrough, textOf } from "../race/lines.ts";

export interface Watched {
  sql: Sql;
  /** What has been sent since the last call, by its first words. */
  taken(): string[];
  /** How often a calendar's days were looked through since the last call, while the locks were held. */
  looksInside(): number;
  stop(): Promise<void>;
}

/** The statements between which locks are held for which others wait. */
interface Held {
  from: RegExp;
  to: RegExp;
}

/** Those of an edit in a transaction of its own. */
const ownTransaction: Held = { from: /^begin/, to: /^(commit|rollback)$/ };
/** Those of edits in a handler's transaction. */
export const handlersTransaction: Held = { from: /^savepoint/, to: /^(commit|rollback.*|release.*)$/ };

/** Connects as the functions do, by one connection, and counts how a calendar is searched through while locks are held. */
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

/** V8 counts the calls of each function; what is asked for are those of the two loops of a calendar's search. */
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
