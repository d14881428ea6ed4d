import type { Tx } from "../db/connect.ts";
import type { Rate } from "../job/rate.ts";

/** A bucket of units that is filled evenly: `100/s` holds 100, and gains one every 10 ms. */
export interface Bucket {
  id: string;
  rate: Rate;
}

export interface Asked {
  /** Taken whole or not at all. The buckets may get into debt by it. */
  cost: number;
  /** Taken instead of the cost, as far as the buckets hold it. */
  upTo: number;
  /** The units that each bucket must hold beforehand; null for any number, also a debt. */
  mustHold: number | null;
}

export interface Taken {
  /** 0 for a refusal. */
  units: number;
  /** The time until each bucket holds a unit; 0 if each does. */
  waitMs: number;
  /** The bucket that needs this time. */
  waitsFor: string;
}

/**
 * Takes the same units from all the buckets, or from none. Buckets without a row are full; their
 * rows are made first.
 */
export async function takeUnits(sql: Tx, buckets: readonly Bucket[], asked: Asked): Promise<Taken> {
  const first = await take(sql, buckets, asked);
  if (first !== null) return first;
  const ids = buckets.map(({ id }) => id);
  await sql`
    insert into carillon.rate_buckets (id, at, used)
    select id, carillon.clock(), 0 from unnest(${ids}::text[]) id order by id
    on conflict do nothing`;
  const second = await take(sql, buckets, asked);
  if (second === null) throw new Error("A bucket of a rate was not found after it was written.");
  return second;
}

/**
 * Null where a bucket has no row. The rows are locked in the order of their ids, so that two
 * requests with common buckets do not wait for each other.
 */
async function take(
  sql: Tx,
  buckets: readonly Bucket[],
  { cost, upTo, mustHold }: Asked,
): Promise<Taken | null> {
  const ids = buckets.map(({ id }) => id);
  const counts = buckets.map(({ rate }) => rate.count);
  const periods = buckets.map(({ rate }) => rate.perMs);
  const rows = await sql<{ id: string; units: number; waitMs: number }[]>`
    with held as materialized (
      select b.id, now.at, a.count, a.ms,
        greatest(0, b.used - greatest(0, extract(epoch from now.at - b.at) * 1000)::float8 * a.count / a.ms) as used
      from unnest(${ids}::text[], ${counts}::float8[], ${periods}::float8[]) as a (id, count, ms)
        join carillon.rate_buckets b on b.id = a.id
        cross join (select carillon.clock() as at) now
      order by b.id
      for update of b
    ), taken as (
      select case
        when count(*) < ${ids.length} or min(count - used) < ${mustHold}::float8 then 0
        else greatest(${cost}::float8, least(${upTo}::float8, floor(min(count - used))))
      end as units
      from held
    )
    update carillon.rate_buckets b
    set at = greatest(b.at, held.at), used = greatest(0, held.used + taken.units)
    from held, taken
    where b.id = held.id
    returning b.id, taken.units, greatest(0, ceil((b.used + 1 - held.count) * held.ms / held.count))::float8 as "waitMs"`;
  if (rows.length < buckets.length) return null;
  return rows
    .map(({ id, units, waitMs }) => ({ units, waitMs, waitsFor: id }))
    .reduce((longest, row) => (row.waitMs > longest.waitMs ? row : longest));
}

/** Gives units back that were taken for work that was not needed. */
export async function giveBackUnits(sql: Tx, buckets: readonly Bucket[], units: number): Promise<void> {
  await take(sql, buckets, { cost: -units, upTo: -units, mustHold: null });
}

/** The units left in each bucket now, without those that functions have taken in advance. */
export async function leftIn(
  sql: Tx,
  buckets: readonly Bucket[],
): Promise<{ bucket: Bucket; left: number }[]> {
  const ids = buckets.map(({ id }) => id);
  const rows = await sql<{ id: string; used: number; ms: number }[]>`
    select id, used, extract(epoch from carillon.clock() - at)::float8 * 1000 as ms
    from carillon.rate_buckets where id = any(${ids}::text[])`;
  const found = new Map(rows.map((row) => [row.id, row]));
  return buckets.map((bucket) => {
    const { count, perMs } = bucket.rate;
    const { used, ms } = found.get(bucket.id) ?? { used: 0, ms: 0 };
    return { bucket, left: Math.floor(count - Math.max(0, used - (Math.max(0, ms) * count) / perMs)) };
  });
}
