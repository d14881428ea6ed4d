import type { Tx } from "../db/connect.ts";

/** Ids of live schedules that stand for all of them. */
export interface SampledIds {
  ids: string[];
  /** The number of schedules that each of them stands for; 1 if they are all there are. */
  weight: number;
}

/** The live schedules of a range of keys, and how many of them a request counts. */
export interface CountedKeys {
  from: string;
  to: string;
  counted: number;
}

/**
 * The first `counted` schedules of a range of keys, if they are at most `most`, or else a sample of
 * about that many. The id alone decides, so that an estimate does not flicker.
 */
export async function sampleKeys(
  tx: Tx,
  { from, to, counted }: CountedKeys,
  most: number,
): Promise<SampledIds> {
  const each = Math.ceil(counted / most);
  const rows = await tx<{ id: string }[]>`
    select s.id from (
      select s.id from carillon.schedules s
      where s.deleted_at is null and s.key >= ${from} and s.key < ${to} order by s.key limit ${counted}::int) s
    where ${each}::int <= 1 or (hashint8(s.id)::bigint + 2147483648) % ${each}::int = 0`;
  return { ids: rows.map(({ id }) => id), weight: counted / Math.max(1, rows.length) };
}

/** The fractional part of the golden ratio: its multiples are even, whatever period the ids have. */
const goldenRatio = (Math.sqrt(5) - 1) / 2;

/**
 * All live schedules, if there are at most `most`, or else a sample of about that many. The sampled
 * ids are evenly spread over all ids, and the same at each request until the ids have doubled, so
 * that an estimate does not flicker. No table is read beyond these rows: the number of live
 * schedules comes from the tallies.
 */
export async function sampleSchedules(tx: Tx, most: number): Promise<SampledIds> {
  const [all] = await tx<{ live: number; lastId: number | null }[]>`
    select greatest(0, c.schedules + t.schedules)::float8 as live, (select max(id) from carillon.schedules)::float8 as "lastId"
    from carillon.schedule_counts c cross join (select coalesce(sum(schedules), 0) as schedules from carillon.schedule_tallies) t`;
  const { live = 0, lastId = null } = all ?? {};
  if (lastId === null) return { ids: [], weight: 1 };
  if (live <= most) {
    const rows = await tx<{ id: string }[]>`
      select id from carillon.schedules where deleted_at is null order by key limit ${2 * most}`;
    return { ids: rows.map(({ id }) => id), weight: 1 };
  }
  const span = 2 ** Math.ceil(Math.log2(lastId + 1));
  // Ids beyond the last one, and those of deleted schedules, find nothing.
  const wanted = Math.min(4 * most, Math.ceil((most * span) / lastId));
  const picked = new Set<string>();
  for (let n = 1; n <= wanted; n++) picked.add(String(1 + Math.floor(((n * goldenRatio) % 1) * span)));
  const rows = await tx<{ id: string }[]>`
    select s.id from unnest(${[...picked]}::bigint[]) p (id) cross join lateral (
      select s.id from carillon.schedules s where s.id = p.id and coalesce(s.deleted_at, 'infinity') = 'infinity' offset 0) s`;
  return { ids: rows.map(({ id }) => id), weight: live / Math.max(1, rows.length) };
}
