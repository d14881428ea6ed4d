import { isoInstant } from "../cadence/zone/civil.ts";
import { spanText } from "../explain/late.ts";
import type { JobGroup } from "../history/error-groups.ts";
import { parcelsMax } from "../history/jobs-in-parcels.ts";
import type { Amount } from "../stats/standing.ts";
import { type DeadGroups, groupsMax, type Losses, type PastOutage } from "./failures.ts";
import type { LateCause, LateWork } from "./late-work.ts";
import { amountText, grouped, type Problem, type ProblemKind, problem } from "./problem.ts";
import { type Waiting, waitingMax } from "./set-aside.ts";

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

const one: Amount = { count: 1, more: false };

/** No tick for long, and a plan that has not become jobs in time. */
export function tickProblems({ now, plannedTo, lastTickAt }: TickBeat): Problem[] {
  const seen = { count: one, path: "/v1/stats", command: "carillon stats" };
  if (lastTickAt === null || now.getTime() - lastTickAt.getTime() > tickMissesAfterMs) {
    const since = lastTickAt === null ? "yet" : `since ${isoInstant(lastTickAt.getTime())}`;
    // Ticks make jobs ahead, and a slow one may still be running: the plan shows up to when jobs exist.
    const reach = isoInstant(plannedTo.getTime());
    const text = `No tick has ended ${since}. The plan reaches to ${reach}; after that no schedule becomes due.`;
    // Without ticks the plan is behind as well, which needs no second problem.
    return [problem({ ...seen, kind: "no-tick", since: lastTickAt, text })];
  }
  if (plannedTo >= now) return [];
  const text = `The slowest shard has made jobs only up to ${isoInstant(plannedTo.getTime())}: later occurrences are late.`;
  return [problem({ ...seen, kind: "plan-behind", since: plannedTo, text })];
}

/** Jobs that wait for a worker or for a target. */
export function lateProblems(
  { items, more, jobsMax }: LateWork,
  {
    live,
    prefix,
    dueBefore,
  }: { live: ReadonlySet<LateCause["queue"]>; prefix: string | null; dueBefore: Date },
): Problem[] {
  if (items.length === 0 && more) return [unseenLate(jobsMax, prefix, dueBefore)];
  return items.map(({ queue, target, jobs, since, sample }) => {
    const count = { count: jobs, more };
    const many = amountText(count, "job is", "jobs are");
    const from = `the oldest since ${isoInstant(since.getTime())}`;
    const isLive = live.has(queue);
    const kind: ProblemKind = target !== null ? "target-full" : isLive ? "late-jobs" : "no-worker";
    const text =
      target !== null
        ? `${many} late at ${target}, ${from}: its limits, or its share of the workers, are used up.`
        : isLive
          ? `${many} late in the ${queue} queue, ${from}: the workers are behind.`
          : `${many} late in the ${queue} queue, ${from}, and no worker has claimed or settled a job of it for two minutes.`;
    return problem({
      kind,
      since,
      count,
      text,
      sample,
      ...waitingJobs(prefix, dueBefore, target === null ? {} : { target }),
    });
  });
}

/** Where too many parcels are open to look at all, an empty list does not mean that no job is late. */
function unseenLate(jobsMax: number | null, prefix: string | null, dueBefore: Date): Problem {
  const looked = `${grouped.format(parcelsMax)} open parcels`;
  const seen =
    jobsMax === null
      ? `No job of the ${looked} that were looked at is late`
      : `Of the ${grouped.format(jobsMax)} late jobs of all prefixes that were looked at, in ${looked}, none is of this prefix`;
  return problem({
    kind: "late-jobs",
    since: null,
    count: { count: 0, more: true },
    text: `${seen}; there are more, which were not looked at.`,
    ...waitingJobs(prefix, dueBefore, {}),
  });
}

const waitingJobs = (prefix: string | null, dueBefore: Date, target: { target?: string }) => ({
  path: "/v1/jobs",
  query: {
    state: "waiting",
    // Jobs that are made ahead of their time wait too.
    to: isoInstant(dueBefore.getTime()),
    ...target,
    ...prefixed(prefix),
  },
  command: "carillon jobs",
});

export function deadProblems({ items, all, more }: DeadGroups, prefix: string | null): Problem[] {
  const listed = items.map((group) => deadGroup(group, more, prefix));
  const groups = all.groups - items.length;
  if (groups === 0) return listed;
  const jobs = all.jobs - items.reduce((sum, { count }) => sum + count, 0);
  return [...listed, unlistedDead({ jobs, groups, more }, prefix)];
}

function deadGroup(
  { target, error, errorGroups, count: counted, firstAt, sample }: JobGroup,
  more: boolean,
  prefix: string | null,
): Problem {
  const count = { count: counted, more };
  const where = target === null ? "" : ` at ${target}`;
  const why = error === null || error === "" ? "no attempt is left." : shortened(error);
  const [errorGroup] = errorGroups ?? [];
  return problem({
    kind: "dead-jobs",
    since: firstAt,
    count,
    text: `${amountText(count, "job is", "jobs are")} dead${where}: ${why}`,
    sample: sample.id,
    path: "/v1/jobs",
    query: {
      state: "dead",
      ...(errorGroup === undefined ? {} : { errorGroup }),
      ...prefixed(prefix),
    },
    command: "carillon jobs",
  });
}

/** The groups of dead jobs beyond the bound of the list. */
function unlistedDead(
  { jobs, groups, more }: { jobs: number; groups: number; more: boolean },
  prefix: string | null,
): Problem {
  const count = { count: jobs, more };
  const inGroups = amountText({ count: groups, more }, "other group");
  return problem({
    kind: "dead-jobs",
    since: null,
    count,
    text: `${amountText(count, "job is", "jobs are")} dead in ${inGroups}: only ${groupsMax} groups are listed here, each team's largest first.`,
    path: "/v1/jobs:groups",
    query: { state: "dead", ...prefixed(prefix) },
    command: "carillon errors",
  });
}

/** Characters of an error in a sentence. */
const errorMax = 200;

const shortened = (error: string): string =>
  error.length <= errorMax ? error : `${error.slice(0, errorMax).trimEnd()}…`;

export function lossProblems({ missed, pulsesLost }: Losses): Problem[] {
  const losses: Problem[] = [];
  if (missed.count > 0) {
    const count = { count: missed.count, more: false };
    losses.push(
      problem({
        kind: "missed",
        since: missed.since,
        count,
        text: `${amountText(count, "occurrence was", "occurrences were")} missed in the last day and did not run.`,
        path: "/v1/jobs",
        query: { state: "skipped", reason: "missed" },
        command: "carillon jobs",
      }),
    );
  }
  if (pulsesLost.count > 0) {
    const count = { count: pulsesLost.count, more: false };
    losses.push(
      problem({
        kind: "pulses-lost",
        since: pulsesLost.since,
        count,
        text: `${amountText(count, "pulse was", "pulses were")} given up in the last day.`,
        path: "/v1/series",
        query: pulsesLost.since === null ? {} : { from: pulsesLost.since.toISOString() },
        command: "carillon series",
      }),
    );
  }
  return losses;
}

const absent: Readonly<Record<PastOutage["what"], string>> = {
  tick: "no tick ran",
  database: "the database was away",
  "fast-workers": "no worker of the fast queue claimed",
  "slow-workers": "no worker of the slow queue claimed",
};

/** Outages of the last day that are over: the cause of what was late, missed or dead then. */
export function outageProblems(
  { items: outages, more }: { items: readonly PastOutage[]; more: boolean },
  from: Date,
): Problem[] {
  const lasted = ({ from: began, to }: PastOutage) => to.getTime() - began.getTime();
  const longest = outages.toSorted((a, b) => lasted(b) - lasted(a))[0];
  if (longest === undefined) return [];
  const count = { count: outages.length, more };
  const span = `from ${isoInstant(longest.from.getTime())} to ${isoInstant(longest.to.getTime())} (${spanText(lasted(longest))})`;
  const text =
    outages.length === 1
      ? `In the last day there was an outage that is over: ${absent[longest.what]} ${span}.`
      : `In the last day there were ${amountText(count, "outage")} that are over. In the longest ${absent[longest.what]} ${span}.`;
  return [
    problem({
      kind: "outages",
      since: outages.reduce((first, each) => (each.from < first ? each.from : first), longest.from),
      count,
      text,
      sample: longest.id,
      path: "/v1/outages",
      query: { from: from.toISOString() },
      command: "carillon outages",
    }),
  ];
}

export interface Kept {
  commands: Waiting;
  inbox: Waiting;
  quarantined: Waiting;
  holds: Waiting;
}

const keptKinds = [
  {
    list: "commands",
    kind: "dead-commands",
    text: (of: Waiting) => `${amountText(of, "command")} from the ingest queue could not be applied.`,
    path: "/v1/commands/dead",
    command: "carillon commands ls",
  },
  {
    list: "inbox",
    kind: "inbox-errors",
    text: (of: Waiting) => `The SQL inbox refused ${amountText(of, "command")}.`,
    path: "/v1/inbox/errors",
    command: "carillon inbox ls",
  },
  {
    list: "quarantined",
    kind: "quarantine",
    text: (of: Waiting) =>
      of.count === 0
        ? `None of the ${grouped.format(waitingMax)} rows in quarantine that were looked at is of this prefix; there may be more.`
        : `Carillon failed on ${amountText(of, "row")} and retries them.`,
    path: "/v1/quarantine",
    command: "carillon quarantine",
  },
  {
    list: "holds",
    kind: "old-holds",
    text: (of: Waiting) =>
      of.count === 0
        ? `None of the ${grouped.format(waitingMax)} holds that were looked at is older than a day; there may be more.`
        : `${amountText(of, "hold is", "holds are")} older than a day.`,
    path: "/v1/holds",
    command: "carillon holds",
  },
] as const satisfies readonly { list: keyof Kept; kind: ProblemKind; [part: string]: unknown }[];

export function keptProblems(kept: Kept, prefix: string | null): Problem[] {
  return keptKinds.flatMap(({ list, text, ...says }) => {
    const { since, sample, ...count } = kept[list];
    if (count.count === 0 && !count.more) return [];
    return [problem({ ...says, since, count, text: text(kept[list]), sample, query: prefixed(prefix) })];
  });
}

const prefixed = (prefix: string | null): Record<string, string> => (prefix === null ? {} : { prefix });
