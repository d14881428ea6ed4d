import type { Claim } from "./claims.ts";
import { judgeClaims, judgeLeases } from "./judge-claims.ts";
import { judgeJobs } from "./judge-jobs.ts";
import { judgeLanes } from "./judge-lanes.ts";
import type { Ledger } from "./ledger.ts";
import { owedBy, type Segment, type VersionRead } from "./owed.ts";

/**
 * An edit with a successful answer: it must be in the history. The history decides about edits with
 * a lost answer.
 */
export interface Acknowledged {
  scheduleId: string;
  version: number;
}

export interface History {
  claims: readonly Claim[];
  acknowledged: readonly Acknowledged[];
}

export interface Verdict {
  owed: number;
  claims: number;
  passedOver: number;
  violations: string[];
}

/**
 * The oracle. It computes the expected occurrences from the requests (without lib's planning), and
 * reads the actual ones from the ledger and from what workers and targets recorded. Each broken
 * rule is named with the occurrence that breaks it.
 */
export function judge(ledger: Ledger, history: History, end: number, clockGrainMs: number): Verdict {
  const byKey = <Row extends { scheduleId: string }>(rows: readonly Row[]) =>
    Map.groupBy(rows, (row) => row.scheduleId);
  const versions = byKey(ledger.versions);
  const jobs = byKey(ledger.jobs);
  const laterJobs = byKey(ledger.laterJobs);
  const ranges = byKey(ledger.ranges);
  const verdict: Verdict = {
    owed: 0,
    claims: history.claims.length,
    passedOver:
      ledger.jobs.filter(({ state }) => state === "skipped").length +
      ledger.ranges.reduce((sum, { count }) => sum + count, 0),
    violations: ledger.deadlocks > 0 ? [`deadlock: ${ledger.deadlocks} in the database's statistics`] : [],
  };
  const segmentsBySchedule = new Map<string, Segment[]>();
  for (const [scheduleId, own] of versions) {
    const segments = owedBy(own, end);
    segmentsBySchedule.set(scheduleId, segments);
    verdict.owed += segments
      .filter(({ kind }) => kind === "active")
      .reduce((sum, { owed }) => sum + owed.length, 0);
    verdict.violations.push(
      ...judgeJobs({
        segments,
        versions: own,
        jobs: jobs.get(scheduleId) ?? [],
        laterJobs: laterJobs.get(scheduleId) ?? [],
        ranges: ranges.get(scheduleId) ?? [],
      }),
    );
  }
  verdict.violations.push(
    ...judgeAcknowledged(history.acknowledged, versions),
    ...judgeClaims(history.claims, { segments: segmentsBySchedule, versions, end }),
    ...judgeLeases(history.claims, clockGrainMs),
    ...judgeLanes(history.claims, versions, clockGrainMs),
  );
  return verdict;
}

function judgeAcknowledged(
  acknowledged: readonly Acknowledged[],
  versions: ReadonlyMap<string, VersionRead[]>,
): string[] {
  return acknowledged.flatMap(({ scheduleId, version }) =>
    versions.get(scheduleId)?.some((each) => each.version === version)
      ? []
      : [`acknowledged and gone: schedule ${scheduleId} version ${version}`],
  );
}
