import type { Sql } from "../../../lib/db/connect.ts";
import type { Between } from "./ledger.ts";

export interface Lateness {
  /** The first part of the schedules' keys, `steady` or `soon`, and the kind of target. */
  schedules: string;
  target: string;
  jobs: number;
  p50Ms: number;
  p90Ms: number;
  p99Ms: number;
  p999Ms: number;
  maxMs: number;
  /** Never negative. */
  minMs: number;
  buckets: { from: number; to: number; count: number }[];
}

/** The number of buckets from one power of ten to the next. */
const bucketsPerPower = 20;

/**
 * The lateness of jobs that were due within the time, separately by the first part of the
 * schedules' keys and by the kind of target.
 */
export async function latenessOf(sql: Sql, { from, to }: Between): Promise<Lateness[]> {
  const of = sql`
    started as (
      select split_part(s.key, ':', 1) as schedules, s.target_kind as target,
        (extract(epoch from j.started_at - j.due_at) * 1000)::float8 as ms
      from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
      where j.kind = 'cadence' and j.occurrence >= ${from} and j.occurrence < ${to} and j.started_at is not null
    )`;
  const rows = await sql<Omit<Lateness, "buckets">[]>`
    with ${of}
    select schedules, target, count(*)::int as jobs, min(ms) as "minMs", max(ms) as "maxMs",
      percentile_disc(0.5) within group (order by ms) as "p50Ms", percentile_disc(0.9) within group (order by ms) as "p90Ms",
      percentile_disc(0.99) within group (order by ms) as "p99Ms", percentile_disc(0.999) within group (order by ms) as "p999Ms"
    from started group by 1, 2 order by 1 desc, 2 desc`;
  const counts = await sql<{ schedules: string; target: string; bucket: number; count: number }[]>`
    with ${of}
    select schedules, target, floor(log(greatest(ms, 1)) * ${bucketsPerPower})::int as bucket, count(*)::int as count
    from started group by 1, 2, 3`;
  return rows.map((row) => ({
    ...row,
    buckets: allBuckets(
      counts.filter(({ schedules, target }) => schedules === row.schedules && target === row.target),
    ),
  }));
}

/** From one millisecond to the last bucket, including empty ones. */
function allBuckets(counts: readonly { bucket: number; count: number }[]): Lateness["buckets"] {
  const found = new Map(counts.map(({ bucket, count }) => [bucket, count]));
  const last = Math.max(...found.keys());
  const edge = (bucket: number) => 10 ** (bucket / bucketsPerPower);
  return Array.from({ length: last + 1 }, (_, bucket) => ({
    from: edge(bucket),
    to: edge(bucket + 1),
    count: found.get(bucket) ?? 0,
  }));
}
