import type { Clock } from "../../clock.ts";
import type { Session } from "../sql.ts";
import { shownSql, sqlPieces } from "../sql-text.ts";
import type { Migration } from "./migration.ts";

interface Outside {
  session: Session;
  clock: Clock;
  until: number;
}

const buildsIndex = /^create\s+(?:unique\s+)?index\s+concurrently\s+if\s+not\s+exists\s+(\w+)\s+on\s/i;

/**
 * Runs the statements one by one. Each does nothing when it was done before. A statement that
 * outlives the run continues on the server, which releases the lock when it ends: so building an
 * index may take longer than a function may run. Returns a sentence about the work that remains, or
 * undefined.
 */
export async function applyOutside(run: Outside, migration: Migration): Promise<string | undefined> {
  for (const { text: statement } of sqlPieces(migration.text)) {
    const index = buildsIndex.exec(statement)?.[1];
    if (index !== undefined) await dropIfInvalid(run.session, index);
    const left = Math.max(run.until - run.clock.now().getTime(), 0);
    if (!(await endsWithin(run.clock, run.session.unsafe(statement), left)))
      return `migration ${migration.number} (${migration.name}): the database still works on ${shownSql(statement)}`;
  }
  return undefined;
}

/**
 * An index whose build died is updated by each write but used by no query, and `if not exists`
 * would take it for complete.
 */
async function dropIfInvalid(session: Session, index: string): Promise<void> {
  const invalid = await session`
    select from pg_class c join pg_index i on i.indexrelid = c.oid
    where c.relnamespace = 'carillon'::regnamespace and c.relname = ${index} and not i.indisvalid`;
  if (invalid.length > 0) await session.unsafe(`drop index concurrently carillon.${index}`);
}

async function endsWithin(clock: Clock, statement: PromiseLike<unknown>, ms: number): Promise<boolean> {
  const over = new AbortController();
  try {
    const ended = Promise.resolve(statement).then(() => true);
    return await Promise.race([ended, clock.sleep(ms, over.signal).then(() => false)]);
  } finally {
    over.abort();
  }
}
