import type { Tx } from "../db/connect.ts";
import { lookedUpMax, waitingJobs } from "./standing.ts";

/** Jobs already made that start before `end`, by minute. */
export async function readMade(tx: Tx, end: Date): Promise<{ at: number; fires: number }[]> {
  const soon = tx`
    select p.id, date_trunc('minute', p.ready_at) as at, p.occurrences, p.schedule_ids, p.kinds, p.ns
    from (select * from carillon.parcels limit ${madeMax}::int) p
    where p.ready_at >= date_trunc('minute', carillon.clock()) and p.ready_at < ${end}`;
  const [sum] = await tx<{ listed: number }[]>`
    select coalesce(sum(cardinality(occurrences)), 0)::float8 as listed from (${soon}) p`;
  const rows = await tx<{ at: Date; fires: number }[]>`
    select p.at, sum(j.jobs)::float8 as fires from (${soon}) p
    cross join lateral (${
      (sum?.listed ?? 0) <= lookedUpMax
        ? tx`select count(*) as jobs from (${waitingJobs(tx)}) j`
        : tx`select cardinality(p.occurrences) as jobs`
    }) j group by 1`;
  return rows.map(({ at, fires }) => ({ at: at.getTime(), fires }));
}

const madeMax = 100_000;
