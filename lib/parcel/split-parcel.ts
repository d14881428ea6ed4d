import { boundStatements } from "../db/bounded.ts";
import type { Sql } from "../db/connect.ts";
import { gate, waitBriefly } from "../db/locks.ts";
import { blameOnceLocked, inHalves } from "../quarantine/in-halves.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";

/**
 * Splits a parcel that cannot be claimed. The jobs of its first half move into new parcels, except
 * those that cannot be written. If there are such jobs, the second half moves too. If all of the
 * first half could be moved, the next claims find out which half is at fault. A failure of the
 * gate, which an edit may hold, is thrown: it does not concern a job.
 */
export async function splitParcel(sql: Sql, id: string, timeIsUp: () => boolean): Promise<OutgoingParcel[]> {
  const [parcel] = await sql<{ shard: number; jobs: number }[]>`
    select shard, cardinality(occurrences) as jobs from carillon.parcels where id = ${id} and lease_until is null`;
  if (parcel === undefined || parcel.jobs < 2) return [];
  const places = Array.from({ length: parcel.jobs }, (_, before) => before + 1);
  const half = Math.ceil(parcel.jobs / 2);
  const outgoing: OutgoingParcel[] = [];
  const moveEach = (part: readonly number[]) =>
    inHalves(
      part,
      async (some) => {
        outgoing.push(...(await moveSome(sql, id, parcel.shard, some)));
      },
      timeIsUp,
    );
  const first = await moveEach(places.slice(0, half));
  if (first.failed.length > 0) await moveEach(places.slice(half));
  return outgoing;
}

/** The positions count from 1, and must be adjacent. */
function moveSome(sql: Sql, id: string, shard: number, places: readonly number[]): Promise<OutgoingParcel[]> {
  return blameOnceLocked((noteLocked) =>
    sql.begin(async (tx) => {
      await waitBriefly(tx);
      await boundStatements(tx);
      await tx`select pg_advisory_xact_lock_shared(${gate}::int, ${shard})`;
      noteLocked();
      return tx<OutgoingParcel[]>`
        select id, queue, greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000)::float8 as "waitMs"
        from carillon.move_some(${id}, ${places[0] ?? 1}, ${places.at(-1) ?? 0})`;
    }),
  );
}
