import type { Sql, Tx } from "../db/connect.ts";
import type { Log } from "../log/log.ts";
import { forgetOld, type OldRows, oldRowName } from "../quarantine/forget-old.ts";
import { isAside, waitsAside } from "../quarantine/quarantine.ts";
import type { Tried } from "../quarantine/try-rows.ts";
import type { Fault } from "../refusal.ts";
import type { Json } from "../schedule/shape/json.ts";

/** A command that was refused when it was applied, with the reason. */
export interface RefusedCommand {
  /** The number of the command in the inbox. */
  id: string;
  at: Date;
  refusedAt: Date;
  /** The role that called. */
  caller: string;
  key: string | null;
  /** Lists leave out the payload. Null in a list if the command is large even so. */
  command: Json;
  problem: string;
  faults: Fault[];
}

/** The place at which a list of refused commands ended. */
export interface RefusedPlace {
  refusedAt: Date;
  id: string;
}

export function refusedPlaceText({ refusedAt, id }: RefusedPlace): string {
  return `${refusedAt.getTime()}/${id}`;
}

/** Null if the text is not a place. */
export function readRefusedPlace(text: string): RefusedPlace | null {
  const [, refusedAt, id] = /^(0|[1-9]\d{0,12})\/([1-9]\d{0,17})$/.exec(text) ?? [];
  return refusedAt === undefined || id === undefined ? null : { refusedAt: new Date(Number(refusedAt)), id };
}

export interface RefusedSearch {
  /**
   * Limits the list to keys with this prefix. Without it, commands without a readable key are
   * listed too.
   */
  prefix?: string | undefined;
  before?: RefusedPlace | undefined;
  limit: number;
}

/** The most rows that one answer reads before it returns the matches and a place to continue. */
const lookedMax = 5_000;

/** Newest first. A page may be shorter than `limit` and still have a `next`. */
export async function listRefused(
  sql: Sql,
  { prefix, before, limit }: RefusedSearch,
): Promise<{ items: RefusedCommand[]; next?: RefusedPlace }> {
  const looks = prefix === undefined ? limit + 1 : lookedMax;
  const places = await sql<(RefusedPlace & { fits: boolean })[]>`
    select refused_at as "refusedAt", id, ${prefix ?? null}::text is null or coalesce(starts_with(key, ${prefix ?? null}::text), false) as fits
    from carillon.inbox_refusals
    ${before === undefined ? sql`` : sql`where (refused_at, id) < (${before.refusedAt}, ${before.id})`}
    order by refused_at desc, id desc limit ${looks}`;
  const fitting = places.filter(({ fits }) => fits).slice(0, limit);
  const last = fitting.length === limit ? fitting.at(-1) : places.at(-1);
  const isEnd = places.length < looks && last?.id === places.at(-1)?.id;
  const items = await readRefused(
    sql,
    fitting.map(({ id }) => id),
  );
  return last === undefined || isEnd
    ? { items }
    : { items, next: { refusedAt: last.refusedAt, id: last.id } };
}

/**
 * Longer commands are shown only one by one: a page of them would be larger than an answer may be.
 */
export const listedCharactersMax = 10_000;

function readRefused(sql: Sql, ids: readonly string[]): PromiseLike<RefusedCommand[]> {
  return sql<RefusedCommand[]>`
    select r.id, r.at, r.refused_at as "refusedAt", r.caller, r.key, r.problem, r.faults,
      case when length(c.command::text) <= ${listedCharactersMax} then c.command end as command
    from carillon.inbox_refusals r cross join lateral (
      select jsonb_object_agg(m.name, case jsonb_typeof(m.value) when 'object' then m.value - 'payload' else m.value end) as command
      from jsonb_each(case jsonb_typeof(r.command) when 'object' then r.command end) m (name, value)) c
    where r.id = any(${[...ids]}::bigint[]) order by r.refused_at desc, r.id desc`;
}

/** Returns the whole command. */
export async function readOneRefused(sql: Sql, id: string): Promise<RefusedCommand | null> {
  const [found] = await sql<RefusedCommand[]>`
    select id, at, refused_at as "refusedAt", caller, key, command, problem, faults from carillon.inbox_refusals where id = ${id}`;
  return found ?? null;
}

/** False if there is no such command. */
export async function deleteRefused(tx: Tx, id: string): Promise<boolean> {
  const gone = await tx`delete from carillon.inbox_refusals where id = ${id}`;
  return gone.count > 0;
}

/** How long refused commands are kept: two weeks of holidays and a day. */
export const refusedKeptDays = 15;

/** Drops refused commands past their retention. */
export async function dropOldRefused(deps: { sql: Sql; log: Log }, timeIsUp: () => boolean): Promise<void> {
  await forgetOld(deps, oldRefused, timeIsUp);
}

const oldRefused: OldRows<Tried & { id: string }> = {
  most: 5_000,
  list: (sql, most) => {
    const item = oldRowName(sql, "inbox_refusals", sql`r.id`);
    return sql`
      select ${item} as item, ${isAside(sql, "forget", item)} as aside, r.id from carillon.inbox_refusals r
      where ${isTooOld(sql)} and not ${waitsAside(sql, "forget", item)} order by r.refused_at, r.id limit ${most}`;
  },
  drop: async (tx, rows) => {
    const { count } = await tx`
      delete from carillon.inbox_refusals r where r.id = any(${rows.map(({ id }) => id)}::bigint[]) and ${isTooOld(tx)}`;
    return count;
  },
};

const isTooOld = (tx: Tx) => tx`
  r.refused_at < (select carillon.clock()) - make_interval(days => ${refusedKeptDays}::int)`;
