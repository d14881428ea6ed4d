import { isoInstant } from "../cadence/zone/civil.ts";
import type { DeadGroup, Losses } from "./failures.ts";
import type { LateWork } from "./late-work.ts";
import { amountText, type Problem, type ProblemKind } from "./problem.ts";
import type { Waiting } from "./set-aside.ts";

/** The signs of life of the ticks. */
export interface TickBeat {
  now: Date;
  /** The slowest shard's plan has become jobs up to here. */
  plannedTo: Date;
  /** When a tick last ended; null if none has. */
  lastTickAt: Date | null;
}

/** Ticks come each minute, and two may lie 119 s apart. */
export const tickMissesAfterMs = 150_000;

/** No tick for long, and a plan that has not become jobs in time. */
export function tickProblems({ now, plannedTo, lastTickAt }: TickBeat): Problem[] {
  const see = { path: "/v1/stats", query: {} };
  const noTick = lastTickAt === null || now.getTime() - lastTickAt.getTime() > tickMissesAfterMs;
  const problems: Problem[] = [];
  if (noTick) {
    const since = lastTickAt === null ? "yet" : `since ${isoInstant(lastTickAt.getTime())}`;
    problems.push({
      kind: "no-tick",
      since: lastTickAt,
      count: { count: 1, more: false },
      text: `No tick has ended ${since}: no schedule becomes due, and nothing is retried.`,
      sample: null,
      see,
      command: "carillon stats",
    });
  }
  // Without ticks the plan is behind as well, which needs no second problem.
  else if (plannedTo < now)
    problems.push({
      kind: "plan-behind",
      since: plannedTo,
      count: { count: 1, more: false },
      text: `The slowest shard has made jobs only up to ${isoInstant(plannedTo.getTime())}: later occurrences are late.`,
      sample: null,
      see,
      command: "carillon stats",
    });
  return problems;
}

/** Jobs that wait for a worker or for a target. */
export function lateProblems(
  late: readonly LateWork[],
  { alive, prefix }: { alive: boolean; prefix: string | null },
): Problem[] {
  return late.map(({ queue, target, jobs, since, sample }) => {
    const count = { count: jobs, more: false };
    const query = { state: "waiting", ...(target === null ? {} : { target }), ...prefixed(prefix) };
    const many = amountText(count, "job is", "jobs are");
    const from = `the oldest since ${isoInstant(since.getTime())}`;
    const waits =
      target === null
        ? alive
          ? `${many} late in the ${queue} queue, ${from}: the workers are behind.`
          : `${many} late in the ${queue} queue, ${from}, and no worker has claimed or settled a job for two minutes.`
        : `${many} late at ${target}, ${from}: its limits, or its share of the workers, are used up.`;
    const kind: ProblemKind = target !== null ? "target-full" : alive ? "late-jobs" : "no-worker";
    return {
      kind,
      since,
      count,
      text: waits,
      sample,
      see: { path: "/v1/jobs", query },
      command: commandWith("carillon jobs", query),
    };
  });
}

export function deadProblems(groups: readonly DeadGroup[], prefix: string | null): Problem[] {
  return groups.map(({ target, count, more, since, sample }) => {
    const query = { state: "dead", ...(target === null ? {} : { target }), ...prefixed(prefix) };
    const where = target === null ? "" : ` at ${target}`;
    return {
      kind: "dead-jobs",
      since,
      count: { count, more },
      text: `${amountText({ count, more }, "job is", "jobs are")} dead${where}: no attempt is left.`,
      sample,
      see: { path: "/v1/jobs", query },
      command: commandWith("carillon jobs", query),
    };
  });
}

export function lossProblems(losses: Losses | null): Problem[] {
  if (losses === null) return [];
  const { missed, pulsesLost } = losses;
  const problem = (kind: ProblemKind, { count, since }: Losses["missed"], text: string): Problem[] =>
    count === 0
      ? []
      : [
          {
            kind,
            since,
            count: { count, more: false },
            text,
            sample: null,
            see: { path: "/v1/jobs", query: { state: "skipped", reason: "missed" } },
            command: "carillon jobs --state skipped --reason missed",
          },
        ];
  return [
    ...problem(
      "missed",
      missed,
      `${amountText({ count: missed.count, more: false }, "occurrence was", "occurrences were")} missed in the last day and did not run.`,
    ),
    ...problem(
      "pulses-lost",
      pulsesLost,
      `${amountText({ count: pulsesLost.count, more: false }, "pulse was", "pulses were")} given up in the last day.`,
    ),
  ];
}

export interface Kept {
  commands: Waiting;
  inbox: Waiting;
  quarantined: Waiting;
  holds: Waiting;
}

export function keptProblems(kept: Kept, prefix: string | null): Problem[] {
  const problem = (
    kind: ProblemKind,
    { since, sample, ...count }: Waiting,
    says: { text: (amount: Waiting) => string; path: string; command: string },
  ): Problem[] =>
    count.count === 0
      ? []
      : [
          {
            kind,
            since,
            count,
            text: says.text({ since, sample, ...count }),
            sample,
            see: { path: says.path, query: prefixed(prefix) },
            command: commandWith(says.command, prefixed(prefix)),
          },
        ];
  return [
    ...problem("dead-commands", kept.commands, {
      text: (of) => `${amountText(of, "command")} from the ingest queue could not be applied.`,
      path: "/v1/commands/dead",
      command: "carillon commands ls",
    }),
    ...problem("inbox-errors", kept.inbox, {
      text: (of) => `The SQL inbox refused ${amountText(of, "command")}.`,
      path: "/v1/inbox/errors",
      command: "carillon inbox ls",
    }),
    ...problem("quarantine", kept.quarantined, {
      text: (of) => `Carillon failed on ${amountText(of, "row")} and retries them.`,
      path: "/v1/quarantine",
      command: "carillon quarantine",
    }),
    ...problem("old-holds", kept.holds, {
      text: (of) => `${amountText(of, "hold is", "holds are")} older than a day.`,
      path: "/v1/schedules",
      command: "carillon ls --state paused",
    }),
  ];
}

const prefixed = (prefix: string | null): { prefix?: string } => (prefix === null ? {} : { prefix });

/** Quotes what a shell would read in another way. */
const quoted = (text: string): string =>
  /^[\w:./@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

function commandWith(command: string, options: Readonly<Record<string, string>>): string {
  return [command, ...Object.entries(options).map(([name, value]) => `--${name} ${quoted(value)}`)].join(" ");
}
