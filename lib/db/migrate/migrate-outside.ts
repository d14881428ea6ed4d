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
 * Statement by statement, each of which does nothing when it was done before. One that outlives the run is left to the server, which ends it and
 * then lets go of the lock, with nobody there: so an index may take longer than a function has. What is left, in words; or undefined.
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

/** What a build that died leaves behind is kept up to date with each write and used by nobody, and `if not exists` would take it for done. */
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
