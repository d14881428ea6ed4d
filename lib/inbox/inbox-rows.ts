import type { Sql, Tx } from "../db/connect.ts";
import type { Fault } from "../refusal.ts";
import type { Json } from "../schedule/json.ts";

/** A command as a caller wrote it in SQL. */
export interface InboxRow {
  id: string;
  /** When it was called. */
  at: Date;
  /** The role that had logged in. */
  caller: string;
  /** As JSON text, in which numbers have all their digits. */
  command: string;
}

/** Why a command was not applied. */
export interface InboxRefusal {
  id: string;
  key: string | null;
  /** Without credentials. */
  command: Json;
  problem: string;
  faults: readonly Fault[];
}

/** So much text of commands is read at once at most; one command is always read. */
const bytesMax = 8 * 1024 * 1024;

/** The numbers of the oldest, in their order, in lists that may be read at once. */
export async function waitingCommands(
  sql: Sql,
  { most, together }: { most: number; together: number },
): Promise<string[][]> {
  const rows = await sql<{ id: string; bytes: number }[]>`
    select id, bytes from carillon.inbox order by id limit ${most}`;
  const lists: string[][] = [];
  let bytes = 0;
  for (const row of rows) {
    const list = lists.at(-1);
    if (list === undefined || list.length >= together || bytes >= bytesMax) {
      lists.push([row.id]);
      bytes = row.bytes;
    } else {
      list.push(row.id);
      bytes += row.bytes;
    }
  }
  return lists;
}

/** In their order, those that there still are. */
export function readCommandRows(sql: Sql, ids: readonly string[]): PromiseLike<InboxRow[]> {
  return sql<InboxRow[]>`
    select id, at, caller, command::text as command from carillon.inbox where id = any(${[...ids]}::bigint[]) order by id`;
}

/** Those that nobody has applied meanwhile. */
export async function stillThere(tx: Tx, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await tx<{ id: string }[]>`
    select id from carillon.inbox where id = any(${[...ids]}::bigint[])`;
  return new Set(rows.map(({ id }) => id));
}

export async function removeCommands(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx`delete from carillon.inbox where id = any(${[...ids]}::bigint[])`;
}

/** Takes commands out of the inbox and keeps why; returns how many there still were. */
export async function refuseCommands(tx: Tx, refusals: readonly InboxRefusal[]): Promise<number> {
  if (refusals.length === 0) return 0;
  const ids = refusals.map(({ id }) => id);
  const refused = await tx`
    with taken_out as (
      delete from carillon.inbox where id = any(${ids}::bigint[]) returning id, at, caller
    )
    insert into carillon.inbox_refusals (id, at, refused_at, caller, key, command, problem, faults)
    select t.id, t.at, carillon.clock(), t.caller, r.key, r.command::jsonb, r.problem, r.faults::jsonb
    from taken_out t join unnest(${ids}::bigint[], ${refusals.map(({ key }) => key)}::text[],
      ${refusals.map(({ command }) => JSON.stringify(command))}::text[], ${refusals.map(({ problem }) => problem)}::text[],
      ${refusals.map(({ faults }) => JSON.stringify(faults))}::text[]) r (id, key, command, problem, faults) on r.id = t.id
    returning id`;
  return refused.length;
}
