import type { Tx } from "../../db/connect.ts";
import { carillonsOwn, endedDetail, versionAtEnd } from "../../schedule/holds.ts";
import type { Json } from "../../schedule/shape/json.ts";

/** The end of a hold that ended by itself. */
export interface HoldEnd {
  /** The version that was current at the end. The end makes no version of its own. */
  version: number;
  at: Date;
  by: string;
  /** The owner of the hold, its reason and its end. */
  detail: Json;
}

/** The most ends that are read for one page of versions. */
const endsMax = 200;

/**
 * The holds of a schedule that ended under these versions, newest first. The tick writes the end
 * of a hold into the audit when it removes the hold; until then the hold itself says that it ended.
 */
export async function holdEndsOf(
  tx: Tx,
  scheduleId: string,
  { from, to }: { from: number; to: number },
): Promise<HoldEnd[]> {
  return tx<HoldEnd[]>`
    select version, at, by, detail from (
      (select a.version, a.at, a.actor as by, a.detail from carillon.audit a
      where a.schedule_id = ${scheduleId} and a.version >= ${from} and a.version <= ${to} and a.action = 'schedule.resumed'
        and a.detail->'ended' is not null
      order by a.version desc limit ${endsMax})
      union all
      select h.version, h.until, ${carillonsOwn.owner}, h.detail from (
        select h.until, ${versionAtEnd(tx)} as version, ${endedDetail(tx)} as detail from carillon.holds h
        where h.schedule_id = ${scheduleId} and h.until <= (select carillon.clock())) h
      where h.version >= ${from} and h.version <= ${to}) ended
    order by version desc, at desc`;
}
