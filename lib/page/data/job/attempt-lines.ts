import type { Attempt, Job } from "../../../client/job.ts";

export interface Stage {
  name: string;
  at: string | null;
}

const stagesOf = (attempt: Attempt): Stage[] => [
  { name: "planned", at: attempt.plannedAt },
  { name: "sent", at: attempt.sentAt },
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
  const ended = attempts.map((attempt) => ({
    title: `attempt ${attempt.attempt}: ${attempt.outcome}${attempt.error === null ? "" : `, ${attempt.error}`}`,
    hasFailed: attempt.outcome !== "succeeded",
    stages: stagesOf(attempt),
    isOpen: false,
  }));
  if (current === null) return ended;
  const stages = [
    { name: "planned", at: current.plannedAt },
    { name: "sent", at: current.sentAt },
    { name: "claimed", at: current.claimedAt },
  ];
  const title = `attempt ${done + 1}: ${current.claimedAt === null ? "waits" : "is under way"}`;
  return [...ended, { title, hasFailed: false, stages, isOpen: true }];
}

export const instantsOf = ({ stages }: Line) =>
  stages.flatMap(({ at }) => (at === null ? [] : Date.parse(at)));
