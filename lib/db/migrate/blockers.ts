import type { Clock } from "../../clock.ts";
import type { Tx } from "../connect.ts";
import { shownSql } from "../sql-text.ts";

/** A session that blocks another one. */
export interface Blocker {
  pid: number;
  role: string;
  since: Date;
  /** The statement that it runs, or ran last. */
  query: string;
}

/** The sessions that block this one now, the oldest transaction first. */
export async function blockersOf(sql: Tx, pid: number): Promise<Blocker[]> {
  const rows = await sql<Blocker[]>`
    select b.pid, coalesce(a.usename, 'a role that is hidden') as role, coalesce(a.query, '') as query,
      coalesce(a.xact_start, a.backend_start, now()) as since
    from unnest(pg_blocking_pids(${pid}::int)) b (pid) left join pg_stat_activity a on a.pid = b.pid
    order by since limit 5`;
  return [...rows];
}

export function blockerText({ pid, role, since, query }: Blocker): string {
  // Postgres reports process 0 for a prepared transaction, which has no process.
  if (pid === 0) return "a prepared transaction (see pg_prepared_xacts)";
  const last = query === "" ? "" : `: ${shownSql(query)}`;
  return `process ${pid} of ${role}, there since ${since.toISOString()}${last}`;
}

export function blockersText(blockers: readonly Blocker[]): string {
  if (blockers.length === 0) return "a session that is not visible";
  return blockers.map(blockerText).join("; ");
}

export interface Watch {
  /** Returns the blockers that were seen last. */
  end(): Blocker[];
}

/**
 * Looks for blockers while a session waits, because a session that has given up has none any more.
 */
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
  // A failure here must not stop the migration. It leaves the list empty, which the report shows.
  watch().catch(() => {});
  return {
    end: () => {
      over.abort();
      return seen;
    },
  };
}
