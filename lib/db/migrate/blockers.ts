import type { Clock } from "../../clock.ts";
import type { Tx } from "../connect.ts";
import { shownSql } from "../sql-text.ts";

/** A session that another one waits for. */
export interface Blocker {
  pid: number;
  role: string;
  since: Date;
  /** What it runs, or ran last. */
  query: string;
}

/** Those whom this session waits for at the moment, the one first that has been there longest. */
export async function blockersOf(sql: Tx, pid: number): Promise<Blocker[]> {
  const rows = await sql<Blocker[]>`
    select b.pid, coalesce(a.usename, 'a role that is hidden') as role, coalesce(a.query, '') as query,
      coalesce(a.xact_start, a.backend_start, now()) as since
    from unnest(pg_blocking_pids(${pid}::int)) b (pid) left join pg_stat_activity a on a.pid = b.pid
    order by since limit 5`;
  return [...rows];
}

export function blockerText({ pid, role, since, query }: Blocker): string {
  // Postgres says so of a transaction that was prepared, and has no process any more.
  if (pid === 0) return "a prepared transaction (see pg_prepared_xacts)";
  const last = query === "" ? "" : `: ${shownSql(query)}`;
  return `process ${pid} of ${role}, there since ${since.toISOString()}${last}`;
}

export function blockersText(blockers: readonly Blocker[]): string {
  if (blockers.length === 0) return "somebody who could not be seen";
  return blockers.map(blockerText).join("; ");
}

export interface Watch {
  /** Whoever was seen last. */
  end(): Blocker[];
}

/** Asks, while a session waits, whom for: once it has given up, nobody blocks it any more. */
export function watchBlockers(sql: Tx, pid: number, clock: Clock, everyMs: number): Watch {
  const over = new AbortController();
  let seen: Blocker[] = [];
  const watch = async () => {
    for (;;) {
      await clock.sleep(everyMs, over.signal);
      if (over.signal.aborted) return;
      const blockers = await blockersOf(sql, pid);
      if (blockers.length > 0) seen = blockers;
    }
  };
  // Who cannot look sees nobody, and says so; what is watched goes on.
  watch().catch(() => {});
  return {
    end: () => {
      over.abort();
      return seen;
    },
  };
}
