import { nameOf } from "./claims.ts";
import type { JobRow, RangeRow } from "./ledger.ts";
import type { Segment, VersionRead } from "./owed.ts";

/** The ledger's records of one schedule, and its expected occurrences. */
export interface ScheduleRecords {
  segments: readonly Segment[];
  versions: readonly VersionRead[];
  jobs: readonly JobRow[];
  laterJobs: readonly JobRow[];
  ranges: readonly RangeRow[];
}

const missedAfterMs = 120_000;

/**
 * No occurrence is lost, recorded twice, unexpected or stuck, and none is passed over without
 * cause.
 */
export function judgeJobs(found: ScheduleRecords): string[] {
  return [
    ...judgeOwed(found),
    ...found.jobs.flatMap((job) => judgeJob(job, found)),
    ...judgePassedOver(found),
  ];
}

function judgeOwed({ segments, jobs, ranges }: ScheduleRecords): string[] {
  const occurrences = new Set(jobs.map(({ occurrence }) => occurrence));
  const owing = segments.filter(({ kind }) => kind === "active" || kind === "held");
  return owing.flatMap(({ kind, owed, scheduleId, edit }) => {
    // An `at` in the past may lie between two occurrences of another cadence, whose range does not
    // cover it.
    const own = ranges.filter(({ from, to }) => owed.includes(from) || owed.includes(to));
    return owed.flatMap((at) => {
      const covering = own.filter(({ from, to }) => from <= at && at <= to);
      // A single occurrence that a pause passed over is a range of its own, within the range of the
      // previous cadence.
      const wide = covering.filter(({ from, to }) => from < to).length;
      const isJob = occurrences.has(at);
      if (!isJob && covering.length === 0) return [`lost: ${nameOf(scheduleId, at)} (${kind}, edit ${edit})`];
      // An `at` in the past that names an instant already passed over by the previous cadence is
      // expected, and recorded, for both.
      const owers = owing.filter((segment) => segment.owed.includes(at)).length;
      return (isJob ? 1 : 0) + wide > owers
        ? [`recorded twice: ${nameOf(scheduleId, at)} (${wide} ranges)`]
        : [];
    });
  });
}

function judgeJob(job: JobRow, { segments, versions }: ScheduleRecords): string[] {
  const { scheduleId, occurrence, state, version, attempt, reason } = job;
  const name = nameOf(scheduleId, occurrence);
  const isOwed = segments.some(({ kind, owed }) => kind !== "deleted" && owed.includes(occurrence));
  if (!isOwed) return [`not expected: ${name} in version ${version} (${state})`];
  if (state === "dead") return [`dead: ${name}`];
  const isHeld = segments.at(-1)?.kind === "held for good";
  if (state === "waiting") return isHeld ? [] : [`stuck: ${name} after attempt ${attempt}`];
  const deletedAt = versions.find(({ change }) => change === "deleted")?.changedAt;
  const mayBeCancelled = reason === "requested" || (deletedAt !== undefined && occurrence <= deletedAt);
  return state === "cancelled" && !mayBeCancelled ? [`cancelled without a reason: ${name}`] : [];
}

/**
 * Only occurrences older than two minutes at planning are passed over, and only if a newer one of
 * that age runs.
 */
function judgePassedOver({ segments, jobs, laterJobs, ranges, versions }: ScheduleRecords): string[] {
  const ran = [...jobs, ...laterJobs]
    .filter(({ state, reason }) => state !== "skipped" || reason === "overlap")
    .map(({ occurrence }) => occurrence);
  const passed = [
    ...jobs
      .filter(({ state, reason }) => state === "skipped" && reason !== "overlap")
      .map(({ scheduleId, occurrence: at, finishedAt }) => ({
        scheduleId,
        from: at,
        to: at,
        notedAt: finishedAt ?? 0,
      })),
    ...ranges,
  ];
  return passed.flatMap(({ scheduleId, from, to, notedAt }) => {
    if (isLeftUnderPause(notedAt, segments, versions)) return [];
    const name = nameOf(scheduleId, from);
    if (to >= notedAt - missedAfterMs) return [`passed over too early: ${name}, only ${notedAt - to} ms old`];
    const newerRan = ran.some((at) => at > to && at < notedAt - missedAfterMs);
    return newerRan ? [] : [`passed over without a newer one that runs: ${name}`];
  });
}

/**
 * A delete under a pause, or an edit that changes the cadence, passes over all occurrences that the old
 * one had meanwhile.
 */
function isLeftUnderPause(
  at: number,
  segments: readonly Segment[],
  versions: readonly VersionRead[],
): boolean {
  const ends = versions.some(
    ({ specified, change, changedAt }) => (specified || change === "deleted") && changedAt === at,
  );
  return ends && segments.some(({ kind, to }) => kind === "held" && to === at);
}
