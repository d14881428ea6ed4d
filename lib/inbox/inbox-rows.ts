import type { Sql, Tx } from "../db/connect.ts";
import { dropEntries } from "../quarantine/quarantine.ts";
import type { Fault } from "../refusal.ts";
import type { Json } from "../schedule/shape/json.ts";
import { type Listed, listsByTurns, type WaitingRow } from "./turns.ts";

/** A command as a caller wrote it in SQL. */
export interface InboxRow {
  id: string;
  /** The time of the call. */
  at: Date;
  /** The role that had logged in. */
  caller: string;
  /** The prefix to which the role was restricted at the call; empty for all keys. */
  reach: string;
  /** The key that the call has checked. */
  key: string;
  /** JSON text, in which numbers keep all their digits. */
  command: string;
}

/** The reason why a command was not applied. */
export interface InboxRefusal {
  id: string;
  key: string;
  /** Without credentials. */
  command: Json;
  problem: string;
  faults: readonly Fault[];
}

/**
 * The oldest commands of each caller, up to a share of `most` for each, in the lists in which they
 * are applied. Commands that are set aside, or wait for one of their key, are left out. `more`: a
 * caller may have more than its share.
 */
export async function waitingCommands(
  sql: Sql,
  { most, together }: { most: number; together: number },
): Promise<{ lists: Listed[]; more: boolean }> {
  const some = await hasAside(sql);
  // One snapshot: commands that commit later are left to the next run, so that none overtakes
  // another. The callers are found by one look into the index for each. The ranges of one caller
  // or key read the index in its order, whatever the planner expects.
  const rows = await sql<(WaitingRow & { share: number })[]>`
    with recursive callers as (
      (select i.caller from carillon.inbox i order by i.caller limit 1)
      union all
      select (select i.caller from carillon.inbox i where i.caller > c.caller order by i.caller limit 1)
      from callers c where c.caller is not null),
    shares as materialized (
      select c.caller, count(*) over () as callers, ceil(${most}::numeric / count(*) over ())::int as share
      from callers c where c.caller is not null)
    select r.id, r.caller, r.bytes, r.tried, s.share, (
      select case when o.caller <> r.caller then o.id end from carillon.inbox o
      where s.callers > 1 and (o.key, o.id) < (r.key, r.id) and o.key >= r.key order by o.key desc, o.id desc limit 1) as prior
    from shares s cross join lateral (
      select id, caller, key, bytes, ${some ? sql`id in (${setAsideIds(sql)})` : sql`false`} as tried
      from carillon.inbox where caller >= s.caller and caller <= s.caller
        ${some ? sql`and id not in (${setAsideIds(sql)} and ${waits(sql)}) and ${hasNoKeyThatWaits(sql)}` : sql``}
      order by caller, id limit s.share) r
    order by r.id`;
  const found = new Map<string, number>();
  for (const { caller } of rows) found.set(caller, (found.get(caller) ?? 0) + 1);
  const more = rows.some(({ caller, share }) => found.get(caller) === share);
  return { lists: listsByTurns(rows, together), more };
}

/** An entry that was edited by hand may have no number: it belongs to no command. */
const isNumber = (sql: Sql) => sql`item ~ '^[0-9]{1,18}$'`;
const numberOf = (sql: Sql) => sql`case when ${isNumber(sql)} then item::bigint end`;

const setAsideIds = (sql: Sql) =>
  sql`select ${numberOf(sql)} from carillon.quarantine where consumer = 'inbox' and ${isNumber(sql)}`;

/** Usually there is no entry, and then no key has to be compared. */
async function hasAside(sql: Sql): Promise<boolean> {
  const [some] = await sql`select from carillon.quarantine where consumer = 'inbox' limit 1`;
  return some !== undefined;
}

const waits = (sql: Sql) => sql`next_at > (select carillon.clock())`;

/** The subquery is not correlated, so that its list is read once and probed by hash. */
const hasNoKeyThatWaits = (sql: Sql) => sql`
  key not in (
    select detail->>'key' from carillon.quarantine where consumer = 'inbox' and detail->>'key' is not null and ${waits(sql)})`;

/** Drops entries of commands that no longer exist because an owner has deleted them. */
export async function forgetGone(sql: Sql): Promise<void> {
  await dropEntries(
    sql,
    sql`q.consumer = 'inbox' and not exists (select from carillon.inbox i where i.id = ${numberOf(sql)})`,
  );
}

/** Existing commands in their order, without those that wait for another one of their key. */
export async function readCommandRows(sql: Sql, ids: readonly string[]): Promise<InboxRow[]> {
  const some = await hasAside(sql);
  return sql<InboxRow[]>`
    select id, at, caller, reach, key, command::text as command from carillon.inbox
    where id = any(${[...ids]}::bigint[]) ${some ? sql`and ${hasNoKeyThatWaits(sql)}` : sql``} order by id`;
}

/** The commands that have not been applied meanwhile. */
export async function stillThere(tx: Tx, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await tx<{ id: string }[]>`
    select id from carillon.inbox where id = any(${[...ids]}::bigint[])`;
  return new Set(rows.map(({ id }) => id));
}

export async function removeCommands(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx`delete from carillon.inbox where id = any(${[...ids]}::bigint[])`;
}

/**
 * Takes commands out of the inbox and keeps them with the reason. Returns how many still existed.
 */
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
