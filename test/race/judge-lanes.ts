import { type Claim, nameOf } from "./claims.ts";
import type { VersionRead } from "./owed.ts";

interface Lease {
  name: string;
  from: number;
  until: number;
}

/**
 * When a schedule forbids overlaps at the moment of a claim, no other job of it is under a live
 * lease at that moment.
 */
export function judgeLanes(
  claims: readonly Claim[],
  versions: ReadonlyMap<string, readonly VersionRead[]>,
  grainMs: number,
): string[] {
  const leases = claims.flatMap(({ claimedAt, leaseUntil, settleSentAt, jobs }) =>
    jobs
      .filter(({ kind }) => kind === "cadence")
      .map(({ scheduleId, occurrence }) => ({
        scheduleId,
        lease: {
          name: nameOf(scheduleId, occurrence),
          from: claimedAt,
          until: Math.min(leaseUntil, settleSentAt ?? leaseUntil),
        },
      })),
  );
  const bySchedule = Map.groupBy(leases, ({ scheduleId }) => scheduleId);
  return [...bySchedule].flatMap(([scheduleId, all]) => {
    const own = versions.get(scheduleId) ?? [];
    const forbids = (at: number) =>
      [
        own.findLast(({ changedAt }) => changedAt <= at),
        own.findLast(({ changedAt }) => changedAt < at),
      ].every((version) => version !== undefined && version.overlap !== "allow");
    const sorted = all.map(({ lease }) => lease).sort((a, b) => a.from - b.from);
    return sorted.flatMap((lease, index) =>
      forbids(lease.from) ? overlapping(lease, sorted.slice(0, index), grainMs) : [],
    );
  });
}

function overlapping(lease: Lease, earlier: readonly Lease[], grainMs: number): string[] {
  return earlier
    .filter(({ name, until }) => name !== lease.name && lease.from < until - grainMs)
    .map(({ name }) => `overlap: ${lease.name} was claimed while ${name} ran`);
}
