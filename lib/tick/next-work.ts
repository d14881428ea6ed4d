import type { Sql } from "../db/connect.ts";
import { watchedMs } from "../parcel/sweep.ts";
import { horizonMs } from "../plan/shard.ts";
import { pendingAfterFiring, type Work } from "./pending-work.ts";
import type { TickSettings } from "./run.ts";

/** Work that no caller and no job waits for: any later tick may do it. */
const upkeep: ReadonlySet<string> = new Set<Work>([
  "near",
  "pastDays",
  "targets",
  "commands",
  "cadences",
  "unusedTargets",
  "pulseTargets",
  "answers",
  "zones",
  "aside",
]);

/**
 * The first moment at which a tick would have something to do for a job or a caller; null if only
 * an edit can bring such a moment. For a clock that leaps: ticks before that moment would do
 * nothing. A moment that has come is returned as it is.
 */
export async function nextWorkAt(sql: Sql, settings: TickSettings): Promise<Date | null> {
  const after = await pendingAfterFiring(sql, settings);
  const moments = Object.entries(after.due).flatMap(([kind, at]) => (upkeep.has(kind) ? [] : [at]));
  const [found] = await sql<{ pulses: boolean; planned: Date | null; leased: Date | null }[]>`
    select exists (select from carillon.pulses) as pulses,
      (select min(n.due_at) from carillon.shards s cross join lateral (
        select p.due_at from carillon.plan p
        where p.shard = s.id and p.due_at >= s.watermark_at and (p.due_at, p.schedule_id) > (s.watermark_at, s.watermark_schedule)
        order by p.due_at, p.schedule_id limit 1) n) - ${horizonMs} * interval '1 millisecond' as planned,
      -- The tick before the end of a lease has a message sent that arrives at its end.
      (select min(offer_at) from carillon.parcels where lane is null and lease_until is not null)
        - ${watchedMs} * interval '1 millisecond' as leased`;
  if (found?.pulses === true) return after.now;
  const known = [...moments, found?.planned ?? null, found?.leased ?? null].filter((at) => at !== null);
  return known.length === 0 ? null : new Date(Math.min(...known.map((at) => at.getTime())));
}
