import { migrationLock } from "../locks.ts";
import type { Session } from "../sql.ts";
import { shownSql } from "../sql-text.ts";
import type { Tx } from "../transaction.ts";

export interface LockHolder {
  pid: number;
  role: string;
  application: string;
  since: Date;
  query: string;
}

/**
 * One migrates at a time, and the lock is the connection's: it goes when the one who migrates is gone, and not before a statement has ended that
 * the server still works on. So a long one that was left to the server keeps the next run out until it is through.
 */
export async function tryMigrationLock(session: Session): Promise<boolean> {
  const [row] = await session<{ locked: boolean }[]>`
    select pg_try_advisory_lock(${migrationLock}::int, 0) as locked`;
  return row?.locked === true;
}

export async function migrationLockHolder(sql: Tx): Promise<LockHolder | undefined> {
  const [holder] = await sql<LockHolder[]>`
    select a.pid, coalesce(a.usename, '') as role, a.application_name as application, a.backend_start as since, coalesce(a.query, '') as query
    from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.database = (select oid from pg_database where datname = current_database())
      and l.classid = ${migrationLock}::oid and l.objid = 0::oid and l.objsubid = 2 and l.granted`;
  return holder;
}

export function holderText({ pid, role, application, since, query }: LockHolder): string {
  return `process ${pid} of ${role} (${application}), there since ${since.toISOString()}: ${shownSql(query)}`;
}

/**
 * So that a run that was killed lets go soon: between statements its connection ends after a minute, and a transaction too. A statement that
 * the server works on goes on without it, as an index that takes an hour must; nobody waits for a lock in a queue that stops others, save where
 * a statement says so itself.
 */
export async function prepareSession(session: Session): Promise<number> {
  await session.unsafe(`
    set idle_session_timeout = '60s';
    set idle_in_transaction_session_timeout = '60s';
    set client_connection_check_interval = 0;
    set statement_timeout = 0;
    set lock_timeout = 0;`);
  const [row] = await session<{ pid: number }[]>`select pg_backend_pid() as pid`;
  if (row === undefined)
    throw new Error("The database does not say which process it serves the migration with.");
  return row.pid;
}
