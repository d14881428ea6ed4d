import type { Tx } from "../db/connect.ts";
import {
  type Segment,
  type VersionRow,
  versionColumns,
  withHold,
  withSpecs,
} from "../history/version-segments.ts";
import { plansUpTo } from "../plan/plans-up-to.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { cadenceOf } from "../schedule/stored/cadence-columns.ts";
import { lagOf, occurrenceDueBy, type Timetable } from "../schedule/stored/timetable.ts";
import type { ScheduleChange } from "../schedule/stored/version-rows.ts";

/** How many versions of each schedule are read. */
const versionsMax = 20;

interface Row extends VersionRow {
  id: string;
  change: ScheduleChange;
  /** Null for the usual one. */
  spread: string | null;
  slot: string | null;
  delivery: ScheduleBody["delivery"] | null;
}

export interface PlannedSegment extends Segment {
  /** How the due times of its occurrences lag behind them. */
  lag: Pick<Timetable, "lagMs" | "slotMs">;
}

/**
 * The segments of the newest versions of many schedules, each newest first. Each has the occurrences that
 * its version plans. They reach until now, or as far as the ticks have come.
 */
export async function plannedSegments(
  tx: Tx,
  schedules: readonly { id: string; key: string }[],
  now: Date,
): Promise<Map<string, PlannedSegment[]>> {
  const rows = await tx<Row[]>`
    select own.schedule_id as id, own.change, v.body ->> 'spread' as spread, v.body ->> 'slot' as slot, v.body ->> 'delivery' as delivery,
      ${versionColumns(tx)}
    from unnest(${schedules.map(({ id }) => id)}::bigint[]) i (id)
    cross join lateral (
      select * from carillon.schedule_versions o where o.schedule_id = i.id order by o.version desc limit ${versionsMax}) own
    ${withSpecs(tx)}
    order by own.schedule_id, own.version`;
  const ofEach = Map.groupBy(rows, ({ id }) => id);
  return new Map(schedules.map(({ id, key }) => [id, segmentsOf(key, ofEach.get(id) ?? [], now)]));
}

function segmentsOf(key: string, rows: readonly Row[], now: Date): PlannedSegment[] {
  const versions = rows.map(versionOfRow);
  const segments: PlannedSegment[] = [];
  let from = versions[0]?.at ?? 0;
  for (const [index, version] of versions.entries()) {
    const { at, cadence, body, row } = version;
    const { isLimited } = row;
    const lag = lagOf(key, body);
    const next = versions[index + 1];
    const until = next?.at ?? Math.max(row.reachedAt.getTime(), now.getTime());
    // Pulses are not planned. They are not caught up either: those under a hold are skipped.
    if (body.delivery === "pulse") {
      const parts = withHold({ from: at, to: until, cadence, isLimited }, row, 1);
      segments.unshift(...parts.map((part) => ({ ...part, lag })));
      from = until;
      continue;
    }
    const planned = next === undefined ? until : occurrenceDueBy(lag, plansUpTo(version, next));
    const to = Math.max(from, Math.min(until, planned));
    const segment = { from, to, cadence, isLimited, lag, held: false, caughtUpMax: 1 };
    if (from < to || next === undefined) segments.unshift(segment);
    from = to;
  }
  return segments;
}

function versionOfRow(row: Row) {
  const { change, changedAt, held, heldUntil, spread, slot, delivery } = row;
  return {
    row,
    change,
    at: changedAt.getTime(),
    held,
    heldUntil: heldUntil?.getTime() ?? null,
    cadence: cadenceOf(row),
    body: { spread: spread ?? "0s", slot, delivery: delivery ?? "ledger" },
  };
}
