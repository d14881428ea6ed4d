import { nameOf } from "./claims.ts";
import type { JobRow, RangeRow } from "./ledger.ts";
import type { Segment, VersionRead } from "./owed.ts";

/** What the ledger says of one schedule, beside what the schedule owed. */
export interface Told {
  segments: readonly Segment[];
  versions: readonly VersionRead[];
  jobs: readonly JobRow[];
  laterJobs: readonly JobRow[];
  ranges: readonly RangeRow[];
}

const missedAfterMs = 120_000;

/** Nothing lost, nothing told twice, nothing from nowhere, nothing stuck, and what was passed over was so by the rule. */
export function judgeJobs(told: Told): string[] {
  return [...judgeOwed(told), ...told.jobs.flatMap((job) => judgeJob(job, told)), ...judgePassedOver(told)];
}

function judgeOwed({ segments, jobs, ranges }: Told): string[] {
  const occurrences = new Set(jobs.map(({ occurrence }) => occurrence));
  const owing = segments.filter(({ kind }) => kind === "active" || kind === "held");
  return owing.flatMap(({ kind, owed, scheduleId, edit }) => {
    // Between two occurrences of another cadence an `at` that is put late may lie, of which their range does not tell.
    const own = ranges.filter(({ from, to }) => owed.includes(from) || owed.includes(to));
    return owed.flatMap((at) => {
      const covering = own.filter(({ from, to }) => from <= at && at <= to);
      // A single run that a pause swallowed is a range of its own, within that of the cadence before it.
      const wide = covering.filter(({ from, to }) => from < to).length;
      const isJob = occurrences.has(at);
      if (!isJob && covering.length === 0) return [`lost: ${nameOf(scheduleId, at)} (${kind}, edit ${edit})`];
      // An `at` that is put late for an instant that the cadence before it had passed over is owed by both, and told by both.
      const owers = owing.filter((segment) => segment.owed.includes(at)).length;
      return (isJob ? 1 : 0) + wide > owers ? [`told twice: ${nameOf(scheduleId, at)} (${wide} ranges)`] : [];
    });
  });
}

function judgeJob(job: JobRow, { segments, versions }: Told): string[] {
  const { scheduleId, occurrence, state, version, attempt, reason } = job;
  const name = nameOf(scheduleId, occurrence);
  const isOwed = segments.some(({ kind, owed }) => kind !== "deleted" && owed.includes(occurrence));
  if (!isOwed) return [`from nowhere: ${name} in version ${version} (${state})`];
  if (state === "dead") return [`dead: ${name}`];
  const isHeld = segments.at(-1)?.kind === "held for good";
  if (state === "waiting") return isHeld ? [] : [`stuck: ${name} after attempt ${attempt}`];
  const deletedAt = versions.find(({ change }) => change === "deleted")?.changedAt;
  const mayBeCancelled = reason === "requested" || (deletedAt !== undefined && occurrence <= deletedAt);
  return state === "cancelled" && !mayBeCancelled ? [`cancelled without a reason: ${name}`] : [];
}

/** Only what is older than two minutes when it is planned, and only if a newer one of that age runs. */
function judgePassedOver({ segments, jobs, laterJobs, ranges, versions }: Told): string[] {
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
    if (isCadenceLeftUnderPause(notedAt, segments, versions)) return [];
    const name = nameOf(scheduleId, from);
    if (to >= notedAt - missedAfterMs) return [`passed over too young: ${name}, ${notedAt - to} ms old`];
    const newerRan = ran.some((at) => at > to && at < notedAt - missedAfterMs);
    return newerRan ? [] : [`passed over without a newer one that runs: ${name}`];
  });
}

/** An edit under a pause that brings another cadence passes everything over that the old one had meanwhile: nothing of it runs. */
function isCadenceLeftUnderPause(
  at: number,
  segments: readonly Segment[],
  versions: readonly VersionRead[],
): boolean {
  const isEdit = versions.some(({ specified, changedAt }) => specified && changedAt === at);
  return isEdit && segments.some(({ kind, to }) => kind === "held" && to === at);
}
