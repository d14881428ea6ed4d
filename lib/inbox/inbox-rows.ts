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

/** Numbers of commands that may be read at once. */
export interface Listed {
  ids: string[];
  /** Whether they have failed before and are tried again: they are kept apart from commands that have not. */
  tried: boolean;
}

/**
 * The oldest that do not wait, in their order. A command that is set aside waits, and so does every other of its key: however many they
 * are, what comes behind them is found.
 */
export async function waitingCommands(
  sql: Sql,
  { most, together }: { most: number; together: number },
): Promise<Listed[]> {
  const [some] = await sql`select from carillon.quarantine where consumer = 'inbox' limit 1`;
  const rows = await sql<{ id: string; bytes: number; tried: boolean }[]>`
    select id, bytes, ${some === undefined ? sql`false` : sql`id in (${setAsideIds(sql)})`} as tried
    from carillon.inbox ${some === undefined ? sql`` : sql`where ${doesNotWait(sql)}`} order by id limit ${most}`;
  const lists: Listed[] = [];
  let bytes = 0;
  for (const row of rows) {
    const list = lists.at(-1);
    if (list === undefined || list.tried !== row.tried || list.ids.length >= together || bytes >= bytesMax) {
      lists.push({ ids: [row.id], tried: row.tried });
      bytes = row.bytes;
    } else {
      list.ids.push(row.id);
      bytes += row.bytes;
    }
  }
  return lists;
}

/** An entry that was edited by hand may name no number: it is of no command. */
const isNumber = (sql: Sql) => sql`item ~ '^[0-9]{1,18}$'`;
const numberOf = (sql: Sql) => sql`case when ${isNumber(sql)} then item::bigint end`;

const setAsideIds = (sql: Sql) =>
  sql`select ${numberOf(sql)} from carillon.quarantine where consumer = 'inbox' and ${isNumber(sql)}`;

/** Not correlated, so that each list is read once and then asked by hash. */
const doesNotWait = (sql: Sql) => {
  const waits = sql`next_at > (select carillon.clock())`;
  return sql`
    id not in (${setAsideIds(sql)} and ${waits})
      and coalesce(${keyOf(sql)}, '') not in (
        select detail->>'key' from carillon.quarantine where consumer = 'inbox' and detail->>'key' is not null and ${waits})`;
};

/** As `keyIn` finds it: of the one verb that a command has, a key or what has one. */
const keyOf = (sql: Sql) => sql`(
  select coalesce(v ->> 'key', v #>> '{}')
  from (select coalesce(command -> 'put', command -> 'patch', command -> 'delete', command -> 'pause', command -> 'resume', command -> 'job') as v
    offset 0) named)`;

/** Entries of commands that are not there any more: an owner has deleted them. */
export async function forgetGone(sql: Sql): Promise<void> {
  await sql`
    delete from carillon.quarantine q
    where consumer = 'inbox' and not exists (select from carillon.inbox i where i.id = ${numberOf(sql)})`;
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
