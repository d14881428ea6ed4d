import type { Sql } from "../../db/connect.ts";
import type { Log } from "../../log/log.ts";
import type { OutgoingParcel } from "../../parcel/parcel-queue.ts";
import { horizonMs, missedAfterMs } from "../../plan/shard.ts";
import type { TickShare } from "../share.ts";

/**
 * The most steps of the search for the seconds at which a shard has a pulse. After that, each
 * second that is left is taken for one with a pulse.
 */
const looksMax = 2_000;

/**
 * A shard without pulses is visited only if the instant up to which its pulses have parcels
 * (`pulsed_to`) is further behind than this. Usually the tick has raised that instant together with
 * the watermark.
 */
const raisedMs = horizonMs - 30_000;

/**
 * Makes and sends the parcels of the pulses of a share's shards up to the horizon, one for each
 * second at which a shard has a due pulse. One query finds the shards with pulses; the others cost
 * nothing more. Returns the number of parcels made.
 */
export async function makePulseParcels(
  { sql, log }: { sql: Sql; log: Log },
  { share, of }: TickShare,
  send: (parcels: readonly OutgoingParcel[]) => void,
): Promise<number> {
  const beating = await sql<{ shard: number }[]>`
    select s.id as shard from carillon.shards s
    where s.id % ${of} = ${share} and s.pulsed_to < (select carillon.clock()) + ${horizonMs - 1_000} * interval '1 millisecond'
      and (s.pulsed_to < (select carillon.clock()) + ${raisedMs} * interval '1 millisecond'
        or exists (select from carillon.pulses p where p.shard = s.id))`;
  let made = 0;
  const failures: unknown[] = [];
  for (const { shard } of beating) {
    try {
      const parcels = await makeParcelsOf({ sql, log }, shard);
      made += parcels.length;
      send(parcels);
    } catch (error) {
      // A failure of one shard does not affect the pulses of others.
      failures.push(error);
    }
  }
  if (failures.length > 0)
    throw new AggregateError(failures, `The pulses of ${failures.length} shards could not be made.`);
  return made;
}

async function makeParcelsOf({ sql, log }: { sql: Sql; log: Log }, shard: number): Promise<OutgoingParcel[]> {
  const rows = await sql<({ id: string; waitMs: number; passed: null } | { id: null; passed: number })[]>`
    select id, wait_ms as "waitMs", passed::float8 from carillon.make_pulse_parcels(${shard}, ${horizonMs}, ${missedAfterMs}, ${looksMax})`;
  return rows.flatMap((row) => {
    if (row.id !== null) return [{ id: row.id, queue: "fast" as const, waitMs: row.waitMs, group: null }];
    log.warn("pulse.passed-over", { shard, seconds: row.passed });
    return [];
  });
}
