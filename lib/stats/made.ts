import type { Tx } from "../db/connect.ts";
import { type Contributor, namesOf } from "./contributors.ts";
import { lookedUpMax, waitingJobs } from "./standing.ts";

/** Jobs that are made already, by the minute in which they start. */
export interface Made {
  minutes: { at: number; fires: number; together: number }[];
  /** The jobs by contributor, if contributors were asked for. */
  named: { at: number; fires: number; names: readonly string[] }[];
  /** False if there are too many to read each: then jobs that edits have withdrawn count too. */
  exact: boolean;
}

export const noneMade: Made = { minutes: [], named: [], exact: true };

/** Jobs already made that start before `end`. */
export async function readMade(
  tx: Tx,
  { end, by }: { end: Date; by: Contributor | undefined },
): Promise<Made> {
  const soon = tx`
    select p.id, date_trunc('minute', p.ready_at) as at, p.occurrences, p.schedule_ids, p.kinds, p.ns
    from (select * from carillon.parcels limit ${madeMax}::int) p
    where p.ready_at >= date_trunc('minute', carillon.clock()) and p.ready_at < ${end}`;
  const [sum] = await tx<{ listed: number }[]>`
    select coalesce(sum(cardinality(occurrences)), 0)::float8 as listed from (${soon}) p`;
  const listed = sum?.listed ?? 0;
  const exact = listed <= lookedUpMax;
  const rows = await tx<{ at: Date; fires: number; together: number }[]>`
    select p.at, sum(j.jobs)::float8 as fires, sum(j.together)::float8 as together from (${soon}) p
    cross join lateral (${
      exact
        ? tx`select count(*) as jobs, count(*) filter (where j.unmoved) as together from (${waitingJobs(tx)}) j`
        : tx`select cardinality(p.occurrences) as jobs,
            case when p.kinds is null and date_trunc('minute', p.occurrences[1]) = p.at then cardinality(p.occurrences) else 0 end as together`
    }) j group by 1`;
  const minutes = rows.map((row) => ({ ...row, at: row.at.getTime() }));
  if (by === undefined) return { minutes, named: [], exact };
  const weight = exact ? 1 : Math.ceil(listed / lookedUpMax);
  const named = await tx<{ at: Date; fires: number; names: string[] }[]>`
    select p.at, (count(*) * ${weight}::int)::float8 as fires, n.names
    from (${soon}) p cross join lateral (${exact ? waitingJobs(tx) : sampledJobs(tx, weight)}) j
    cross join lateral (select ${namesOf(tx, by)} as names from carillon.schedules s where s.id = j.schedule_id offset 0) n
    group by p.at, n.names`;
  return { minutes, named: named.map((row) => ({ ...row, at: row.at.getTime() })), exact };
}

/** SQL: one of each `weight` jobs of a parcel (p). The place in its list is mixed, since lists may repeat. */
const sampledJobs = (tx: Tx, weight: number) => tx`
  select k.schedule_id from (
    select p.schedule_ids[1 + b * ${weight}::int + (hashint8(p.id + b)::bigint + 2147483648) % ${weight}::int] as schedule_id
    from generate_series(0, (cardinality(p.schedule_ids) - 1) / ${weight}::int) b) k
  where k.schedule_id is not null`;

const madeMax = 100_000;
