import type { Attempt, Job, ParcelTimes } from "../../../client/job.ts";

export interface Stage {
  name: string;
  at: string | null;
}

/**
 * How an attempt was put up. A later one is put up when the one before it is recorded as failed. One that
 * goes on in an older message has the times of that message, which are not its own.
 */
function beginOf({ plannedAt, sentAt }: ParcelTimes, before: Attempt | undefined): Stage[] {
  if (before === undefined)
    return [
      { name: "planned", at: plannedAt },
      { name: "sent", at: sentAt },
    ];
  const isOwn = ({ at }: Stage) => at === null || Date.parse(at) >= Date.parse(before.claimedAt);
  return [
    { name: "retry planned", at: plannedAt },
    { name: "sent", at: sentAt },
  ].filter(isOwn);
}

const stagesOf = (attempt: Attempt, before: Attempt | undefined): Stage[] => [
  ...beginOf(attempt, before),
  { name: "claimed", at: attempt.claimedAt },
  { name: "target began", at: attempt.targetStartedAt },
  { name: "target ended", at: attempt.targetEndedAt },
  { name: "settled", at: attempt.settledAt },
];

/** One attempt on a line of time. */
export interface Line {
  title: string;
  hasFailed: boolean;
  stages: readonly Stage[];
  /** An attempt that is not over yet has no end. */
  isOpen: boolean;
}

/** The attempts of a job, and the one that waits or is under way. */
export function linesOf({ attempts, current, attempt: done }: Job): Line[] {
  const ended = attempts.map((attempt, place) => ({
    title: `attempt ${attempt.attempt}: ${attempt.outcome}${attempt.error === null ? "" : `, ${attempt.error}`}`,
    hasFailed: attempt.outcome !== "succeeded",
    stages: stagesOf(attempt, attempts[place - 1]),
    isOpen: false,
  }));
  if (current === null) return ended;
  const stages = [...beginOf(current, attempts.at(-1)), { name: "claimed", at: current.claimedAt }];
  const title = `attempt ${done + 1}: ${current.claimedAt === null ? "waits" : "is under way"}`;
  return [...ended, { title, hasFailed: false, stages, isOpen: true }];
}

export const instantsOf = ({ stages }: Line) =>
  stages.flatMap(({ at }) => (at === null ? [] : Date.parse(at)));
