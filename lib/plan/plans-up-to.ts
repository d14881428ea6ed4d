import { isDeepStrictEqual } from "node:util";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import type { ScheduleChange } from "../schedule/stored/version-rows.ts";

/** A version as the plan sees it. Instants are epoch milliseconds. */
export interface PlannedVersion {
  change: ScheduleChange;
  at: number;
  held: boolean;
  heldUntil: number | null;
  cadence: Cadence;
  body: Pick<ScheduleBody, "delivery">;
}

/**
 * The due time up to which a version plans its occurrences, if this is the next version. An edit that
 * keeps the cadence plans the later ones again, and the release of a hold all that were due under it.
 * Any other edit leaves the occurrences before it to the version that gave them.
 */
export function plansUpTo(version: PlannedVersion, next: PlannedVersion): number {
  const isKept = continues(version.cadence, next.cadence) && version.body.delivery === next.body.delivery;
  if (next.change === "deleted" || !isKept) return Number.POSITIVE_INFINITY;
  const isHeldOn = version.held && (version.heldUntil === null || version.heldUntil > next.at);
  return isHeldOn ? Number.NEGATIVE_INFINITY : next.at;
}

/** Whether a cadence is the one before, or that without its first occurrences: a longer lag shortens it. */
function continues(before: Cadence, cadence: Cadence): boolean {
  const [a, b] = [bounded(before), bounded(cadence)];
  return a.endsAt === b.endsAt && a.startsAt <= b.startsAt && isDeepStrictEqual(a.of, b.of);
}

function bounded(cadence: Cadence): { of: Cadence; startsAt: number; endsAt: number | null } {
  if (cadence.kind !== "window") return { of: cadence, startsAt: Number.NEGATIVE_INFINITY, endsAt: null };
  return { ...cadence, startsAt: cadence.startsAt ?? Number.NEGATIVE_INFINITY };
}
