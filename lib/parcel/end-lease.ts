import { boundStatements } from "../db/bounded.ts";
import type { Sql } from "../db/connect.ts";
import { waitBriefly, waitForRows } from "../db/locks.ts";
import type { Log } from "../log/log.ts";
import { inHalves, mayBeOfARow } from "../quarantine/in-halves.ts";
import { defaults } from "../schedule/stored/stored-body.ts";
import { leaveParcel } from "./leave-parcel.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";
import { type Notify, type Settled, type SettleRow, settledOf } from "./settle.ts";

interface Deps {
  sql: Sql;
  log: Log;
}

export interface EndedLease extends Settled {
  /** Why some of its jobs could not be taken from the parcel: the next sweep tries again. */
  error?: unknown;
}

/**
 * Takes a parcel whose lease has ended from its worker; `held` is false if another process has
 * taken it, or if the worker still lives. A job that cannot be written stays in the parcel, which
 * gives up its place at its target, and the other jobs are delivered again.
 */
export async function endLease(
  deps: Deps,
  id: string,
  notify: Notify,
  timeIsUp: () => boolean = () => false,
): Promise<EndedLease> {
  try {
    return await endWhole(deps.sql, id, notify);
  } catch (error) {
    if (!mayBeOfARow(error)) throw error;
    return endApart(deps, id, notify, error, timeIsUp);
  }
}

async function endWhole(sql: Sql, id: string, notify: Notify): Promise<Settled> {
  const rows = await sql.begin(async (tx) => {
    await waitBriefly(tx);
    return tx<SettleRow[]>`
      select ended as settled, id, queue, coalesce(greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000), 0)::float8 as "waitMs"
      from carillon.end_lease(${id}, ${defaults.retry.attempts}, ${[...notify]}::text[])`;
  });
  return settledOf(rows);
}

async function endApart(
  deps: Deps,
  id: string,
  notify: Notify,
  error: unknown,
  timeIsUp: () => boolean,
): Promise<EndedLease> {
  const outgoing: OutgoingParcel[] = [];
  const places = await placesOf(deps.sql, id);
  const { failed, left } = await inHalves(
    places,
    async (part) => {
      outgoing.push(...(await endSome(deps.sql, id, part, notify)));
    },
    timeIsUp,
  );
  outgoing.push(...(await leaveParcel(deps, id, null, timeIsUp)));
  const isThrough = places.length > 0 && failed.length + left.length === 0;
  return { held: true, outgoing, ...(isThrough ? {} : { error }) };
}

/**
 * Takes some jobs from the parcel, by their positions counted from 1. They go back without a
 * counted attempt: which of them stopped the worker is unknown.
 */
async function endSome(
  sql: Sql,
  id: string,
  part: readonly number[],
  notify: Notify,
): Promise<OutgoingParcel[]> {
  const rows = await sql.begin(async (tx) => {
    await waitForRows(tx, part.length);
    await boundStatements(tx);
    return tx<SettleRow[]>`
      select ended as settled, id, queue, coalesce(greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000), 0)::float8 as "waitMs"
      from carillon.end_lease_of_some(${id}, ${part[0] ?? 1}, ${part.at(-1) ?? 0}, ${[...notify]}::text[])`;
  });
  return settledOf(rows).outgoing;
}

/**
 * The positions of the jobs, counted from 1. Empty for a parcel of one job, which is not divided:
 * its job is charged an attempt, which only the end of the whole lease writes.
 */
async function placesOf(sql: Sql, id: string): Promise<number[]> {
  const [row] = await sql<
    { jobs: number }[]
  >`select cardinality(occurrences) as jobs from carillon.parcels where id = ${id}`;
  const jobs = row?.jobs ?? 0;
  return jobs < 2 ? [] : Array.from({ length: jobs }, (_, before) => before + 1);
}
