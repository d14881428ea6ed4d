import type { Tx } from "../db/connect.ts";
import { isOwner, type JobOwners } from "../history/find-schedules.ts";
import { jobCounted, type LedgerRows } from "./ledger-sums.ts";
import type { LedgerPlace } from "./series-place.ts";
import type { Range } from "./series-steps.ts";

/**
 * The most jobs, and the most ranges, that a page walks through. Where the schedules are not listed
 * beforehand, each has to be looked up.
 */
export const walkedMost = { listed: 500_000, unlisted: 100_000 };

export type WalkedMost = typeof walkedMost;

/** The part of the ledger that a page walks through: the range down from the place, if there is one. */
export interface Stretch {
  range: Range;
  place: LedgerPlace | null;
}

type Table = "jobs" | "passed_over";

const columnsOf = { jobs: ["occurrence", "schedule_id"], passed_over: ["to_at", "schedule_id"] } as const;

/** SQL condition: the row `r` lies within the stretch, and after `stop` where that is given. */
function within(tx: Tx, table: Table, { range, place }: Stretch, stop: LedgerPlace | null) {
  const [at, id] = columnsOf[table].map((name) => tx(`r.${name}`));
  if (at === undefined || id === undefined) throw new Error(`The table ${table} has no order.`);
  // The bounds by time alone let Postgres skip days.
  return tx`
    ${at} >= ${new Date(stop?.at ?? range.from)} and ${at} < ${new Date(range.to)}
    ${place === null ? tx`` : tx`and (${at}, ${id}) <= (${new Date(place.at)}::timestamptz, ${place.id}::bigint)`}
    ${stop === null ? tx`` : tx`and (${at}, ${id}) > (${new Date(stop.at)}::timestamptz, ${stop.id}::bigint)`}`;
}

/**
 * The place after which a page must stop, newest first, so that it walks through at most `most` jobs
 * and as many ranges. Null if it reaches the end of the stretch. A schedule has few jobs at one
 * instant, so the next page always gets further.
 */
export async function stopOf(tx: Tx, stretch: Stretch, most: number): Promise<LedgerPlace | null> {
  const stops: LedgerPlace[] = [];
  for (const table of ["jobs", "passed_over"] as const) {
    const [at, id] = columnsOf[table];
    const [row] = await tx<{ at: Date; id: string }[]>`
      select ${tx(`r.${at}`)} as at, r.schedule_id as id from ${tx(`carillon.${table}`)} r where ${within(tx, table, stretch, null)}
      order by ${tx(`r.${at}`)} desc, ${tx(`r.${id}`)} desc offset ${most}::int limit 1`;
    if (row !== undefined) stops.push({ at: row.at.getTime(), id: row.id });
  }
  const [newest = null] = stops.sort(
    (one, other) => other.at - one.at || Number(BigInt(other.id) - BigInt(one.id)),
  );
  return newest;
}

/** The jobs and ranges of the stretch down to the stop, of the schedules that match. */
export function walked(
  tx: Tx,
  { owners, ids }: { owners: JobOwners; ids: readonly string[] | null },
  stretch: Stretch,
  stop: LedgerPlace | null,
): LedgerRows {
  // Each schedule is looked up once. `offset 0` keeps the lookup by id apart from the filter.
  const matching = (table: Table) =>
    ids === null
      ? tx`
        select s.id from (select distinct r.schedule_id from ${tx(`carillon.${table}`)} r where ${within(tx, table, stretch, stop)}) d
        cross join lateral (select * from carillon.schedules s where s.id = d.schedule_id offset 0) s where ${isOwner(tx, owners)}`
      : tx`select unnest(${[...ids]}::bigint[]) as id`;
  return {
    jobs: tx`
      with owners as materialized (${matching("jobs")})
      select ${jobCounted(tx)} from (select r.* from carillon.jobs r where ${within(tx, "jobs", stretch, stop)}) j
      join owners o on o.id = j.schedule_id`,
    passed: tx`
      with owners as materialized (${matching("passed_over")})
      select r.to_at, r.reason, r.count from carillon.passed_over r join owners o on o.id = r.schedule_id
      where ${within(tx, "passed_over", stretch, stop)}`,
  };
}
