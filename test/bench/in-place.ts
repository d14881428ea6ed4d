import type { Sql } from "../../lib/db/connect.ts";
import { shardCount } from "../../lib/plan/shard.ts";

/**
 * The alternative design, at its best: a row holds the next due instant of a schedule, and each
 * fire updates it. One statement takes the due rows of a shard, advances them, and writes jobs as
 * wide as Carillon's with the same key. It makes no parcels, sends nothing and marks nothing.
 * `wide` rows hold the whole schedule, `narrow` ones only the due instant.
 */
export interface InPlace {
  name: "wide" | "narrow";
  /**
   * The fillfactor of its pages. An update of an indexed column is never HOT, but the new version
   * finds room beside the old one.
   */
  fillfactor: number;
}

export const inPlaceVariants: readonly InPlace[] = [
  { name: "wide", fillfactor: 80 },
  { name: "narrow", fillfactor: 80 },
];

/** Long in the past: due rows are determined by these instants, not by the time of day. */
const base = "2001-01-01T00:00:00Z";

/** The due instant of a due set's rows; sets are numbered from 1. */
export function dueAtOf(set: number): Date {
  return new Date(Date.parse(base) + set * 1_000);
}

/**
 * Stores this many rows. Each due set has the given number, scattered over all ids; the others are
 * due in years.
 */
export async function storeInPlace(
  sql: Sql,
  { name, fillfactor }: InPlace,
  { schedules, due, sets, everyMs }: { schedules: number; due: number; sets: number; everyMs: number },
): Promise<void> {
  const more =
    name === "wide"
      ? sql`, 'bench:' || md5(id::text) as key, 'queue'::text as target_kind, '{}'::text[] as tags, now() as created_at, 'bench'::text as created_by, now() as updated_at, 'bench'::text as updated_by`
      : sql``;
  await sql.unsafe(`drop table if exists public.in_place_${name}, public.in_place_${name}_jobs`);
  await sql`
    create table public.${sql(`in_place_${name}`)} as
    select id, 1 as version, (id % ${shardCount}::int)::smallint as shard, ${everyMs}::bigint as every_ms,
      case when place < ${due}::bigint * ${sets}::int then ${base}::timestamptz(3) + (1 + place / ${due}::bigint) * interval '1 second'
        else timestamptz '2100-01-01' end::timestamptz(3) as next_at ${more}
    from generate_series(1, ${schedules}::bigint) id, lateral (select (id * 2654435761) % ${schedules}::bigint as place) scattered`;
  await sql.unsafe(`
    alter table public.in_place_${name} set (fillfactor = ${fillfactor}, autovacuum_enabled = on);
    create table public.in_place_${name}_jobs (like carillon.jobs including all) with (fillfactor = 50)`);
  // A table that is made from a query is packed full, whatever its fillfactor; vacuum full applies
  // it.
  await sql.unsafe(`vacuum (full) public.in_place_${name}`);
  await sql.unsafe(`alter table public.in_place_${name} add primary key (id)`);
  await sql.unsafe(`create index in_place_${name}_due on public.in_place_${name} (shard, next_at)`);
  await sql.unsafe(`vacuum (analyze) public.in_place_${name}`);
}

/**
 * Fires all rows due by then, in batches, shard by shard in this many lanes. Returns the number of
 * jobs made.
 */
export async function fireInPlace(
  sql: Sql,
  { name }: InPlace,
  { upTo, lanes, batchMax }: { upTo: Date; lanes: number; batchMax: number },
): Promise<number> {
  const shards = Array.from({ length: shardCount }, (_, shard) => shard).values();
  let jobs = 0;
  const lane = async () => {
    for (const shard of shards) {
      for (let made = batchMax; made === batchMax; jobs += made)
        made = await fireBatch(sql, name, { shard, upTo, batchMax });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return jobs;
}

async function fireBatch(
  sql: Sql,
  name: InPlace["name"],
  { shard, upTo, batchMax }: { shard: number; upTo: Date; batchMax: number },
): Promise<number> {
  const table = sql(`in_place_${name}`);
  const [row] = await sql<{ made: number }[]>`
    with due as materialized (
      select id, next_at, version from public.${table}
      where shard = ${shard}::smallint and next_at <= ${upTo} order by next_at limit ${batchMax} for update skip locked
    ), moved as (
      update public.${table} c set next_at = c.next_at + c.every_ms * interval '1 millisecond' from due d where c.id = d.id
    ), made as (
      insert into public.${sql(`in_place_${name}_jobs`)} (occurrence, schedule_id, due_at, parcel_id, version)
      select next_at, id, next_at, 1, version from due order by next_at, id
    )
    select count(*)::int as made from due`;
  return row?.made ?? 0;
}
