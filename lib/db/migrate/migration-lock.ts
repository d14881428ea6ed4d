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
 * Allows one migration at a time. The lock belongs to the connection: the server releases it when
 * the run is gone, but not before a statement that it still executes has ended. So a long statement
 * that was left to the server keeps the next run out until it is done.
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
 * Makes the lock of a killed run end soon: between statements the server closes its connection
 * after a minute, also within a transaction. A statement that the server is executing continues
 * without the client, as building an index for an hour must. The session itself limits no statement
 * and no wait for a lock. A transaction that would block others while it waits sets its own limits.
 */
export async function prepareSession(session: Session): Promise<number> {
  await session.unsafe(`
    set idle_session_timeout = '60s';
    set idle_in_transaction_session_timeout = '60s';
    set client_connection_check_interval = 0;
    set statement_timeout = 0;
    set lock_timeout = 0;`);
  const [row] = await session<{ pid: number }[]>`select pg_backend_pid() as pid`;
  if (row === undefined) throw new Error("The database returned no process id for the migration.");
  return row.pid;
}
