import { type Claim, type ClaimedMark, nameOfMark } from "./claims.ts";
import { noteOwner, type Owners, type Segment, type VersionRead } from "./owed.ts";

export interface Known {
  segments: ReadonlyMap<string, Segment[]>;
  versions: ReadonlyMap<string, VersionRead[]>;
  /** Jobs that are due later have no expected result. */
  end: number;
}

/**
 * No job starts early, under a pause, after a delete, from a withdrawn version, or with an older
 * edit's payload.
 */
export function judgeClaims(claims: readonly Claim[], known: Known): string[] {
  const started = claims.flatMap(({ claimedAt, jobs }) =>
    jobs.flatMap((job) => judgeStart(job, claimedAt, known)),
  );
  const taken = claims.flatMap(({ settled, done }) => (settled === "held" ? [...done] : []));
  const doubled = [...Map.groupBy(taken, (name) => name)].filter(([, times]) => times.length > 1);
  return [
    ...started,
    ...doubled.map(([name, times]) => `doubled: ${name} was delivered and settled ${times.length} times`),
  ];
}

function judgeStart(job: ClaimedMark, at: number, known: Known): string[] {
  const { scheduleId, occurrence, kind, dueAt, edit } = job;
  const violations: string[] = [];
  const name = nameOfMark(job);
  const versions = known.versions.get(scheduleId) ?? [];
  const segments = known.segments.get(scheduleId) ?? [];
  if (at < dueAt) violations.push(`early: ${name} by ${dueAt - at} ms`);
  // Jobs beside the cadence are not in the expected occurrences.
  const isOwed =
    kind !== "cadence" || segments.some(({ kind, owed }) => kind !== "deleted" && owed.includes(occurrence));
  if (occurrence <= known.end && !isOwed) violations.push(`started after its withdrawal: ${name}`);
  // Two events within the same millisecond may have either order.
  const inForce = [
    versions.findLast(({ changedAt }) => changedAt <= at),
    versions.findLast(({ changedAt }) => changedAt < at),
  ];
  if (!inForce.some((version) => version?.edit === edit))
    violations.push(`started with an older edit's payload: ${name}, edit ${edit}`);
  const stop = stoppedAt(versions, at);
  if (stop !== null) violations.push(`started after ${stop}: ${name} at ${new Date(at).toISOString()}`);
  return violations;
}

/**
 * The pause or delete that prevented starts at an instant, or null. In the exact millisecond of a
 * change either order may be true.
 */
function stoppedAt(versions: readonly VersionRead[], at: number): string | null {
  const owners: Owners = new Map();
  for (const version of versions) {
    if (version.changedAt > at) break;
    if (version.changedAt === at && version.change !== "resumed") continue;
    if (version.change === "deleted") return "its delete";
    noteOwner(owners, version);
  }
  return owners.size > 0 ? "its pause" : null;
}

/**
 * No job is under two live leases, and no worker settles after another one has claimed its parcel.
 */
export function judgeLeases(claims: readonly Claim[], grainMs: number): string[] {
  const violations: string[] = [];
  const byJob = new Map<string, Claim[]>();
  for (const claim of claims) {
    for (const job of claim.jobs) {
      const name = nameOfMark(job);
      byJob.set(name, [...(byJob.get(name) ?? []), claim]);
    }
  }
  for (const [name, own] of byJob) {
    for (const [index, claim] of own.entries()) {
      const liveUntil = Math.min(claim.leaseUntil, claim.settleSentAt ?? claim.leaseUntil);
      for (const later of own.slice(index + 1)) {
        if (later.claimedAt < liveUntil - grainMs) violations.push(`two live leases: ${name}`);
        if (
          claim.settled === "held" &&
          claim.settleSentAs !== undefined &&
          later.claimedAs < claim.settleSentAs
        )
          violations.push(`settled by a worker that had lost its lease: ${name}`);
      }
    }
  }
  return violations;
}
