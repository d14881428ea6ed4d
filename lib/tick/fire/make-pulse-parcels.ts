import type { Sql } from "../../db/connect.ts";
import type { Log } from "../../log/log.ts";
import type { OutgoingParcel } from "../../parcel/parcel-queue.ts";
import { horizonMs, missedAfterMs } from "../../plan/shard.ts";
import type { TickShare } from "../share.ts";

/** So many steps are made to find which seconds of a shard have a pulse; then each that is left counts as one. */
const looksMax = 2_000;

/** Where a shard has neither pulses nor anything else to do, this tick has raised it with its watermark. */
const raisedMs = horizonMs - 30_000;

/**
 * Makes the parcels of the pulses of a share's shards up to the horizon, one for each second of a shard at which one is due, and has them sent.
 * One query tells which shards have pulses; the others cost no more. Returns how many parcels were made.
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
      // Of one shard: it keeps no other from its pulses.
      failures.push(error);
    }
  }
  if (failures.length > 0)
    throw new AggregateError(failures, `The pulses of ${failures.length} shards were not made.`);
  return made;
}

async function makeParcelsOf({ sql, log }: { sql: Sql; log: Log }, shard: number): Promise<OutgoingParcel[]> {
  const rows = await sql<({ id: string; waitMs: number; passed: null } | { id: null; passed: number })[]>`
    select id, wait_ms as "waitMs", passed::float8 from carillon.make_pulse_parcels(${shard}, ${horizonMs}, ${missedAfterMs}, ${looksMax})`;
  return rows.flatMap((row) => {
    if (row.id !== null) return [{ id: row.id, queue: "fast" as const, waitMs: row.waitMs }];
    log.warn("pulse.passed-over", { shard, seconds: row.passed });
    return [];
  });
}
