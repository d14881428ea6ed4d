import type { Sql } from "../db/connect.ts";
import { readForeignLocks } from "../db/foreign-locks.ts";
import { spanText } from "../explain/late.ts";
import { readUnfinishedMoves } from "../move/unfinished-moves.ts";
import { readDeadGroups, readLosses, readPastOutages } from "./failures.ts";
import { foreignLockProblems } from "./foreign-lock-problems.ts";
import { fullBacklogProblems, readFullBacklog } from "./full-backlog.ts";
import { readLateWork, readLiveQueues } from "./late-work.ts";
import { type Problem, type ProblemKind, ranked, type Verdict } from "./problem.ts";
import {
  deadProblems,
  keptProblems,
  lateProblems,
  lossProblems,
  outageProblems,
  type TickBeat,
  tickProblems,
} from "./sentences.ts";
import { readDeadCommands, readInboxErrors, readOldHolds, readQuarantined } from "./set-aside.ts";
import { unfinishedMoveProblems } from "./unfinished-moves.ts";

export interface Problems {
  asOf: Date;
  verdict: Verdict;
  /** The verdict in one sentence. */
  text: string;
  /** The worst first. */
  problems: Problem[];
}

/** A job that has waited this long is late: a healthy worker starts it within a second. */
export const lateAfterMs = 60_000;
/** Without a claim or a settle in a queue in this time, while its jobs are late, no worker runs for it. */
const workersWithinMs = 120_000;
const dayMs = 86_400_000;

/**
 * The verdict and the problems, the worst first. With a prefix they are those of schedules under it;
 * a missing tick, a plan that is behind and outages concern every prefix.
 */
export async function readProblems(sql: Sql, prefix: string | null): Promise<Problems> {
  const beat = await readTickBeat(sql);
  const { now } = beat;
  const dayAgo = new Date(now.getTime() - dayMs);
  const [late, owed, live, dead, losses, outages, commands, inbox, quarantined, holds, locks, moves] =
    await Promise.all([
      readLateWork(sql, { now, lateMs: lateAfterMs, prefix }),
      readFullBacklog(sql, { now, lateMs: lateAfterMs, prefix }),
      readLiveQueues(sql, now, workersWithinMs),
      readDeadGroups(sql, prefix),
      prefix === null ? readLosses(sql, dayAgo) : null,
      readPastOutages(sql, dayAgo),
      readDeadCommands(sql, prefix),
      readInboxErrors(sql, prefix),
      readQuarantined(sql, prefix),
      readOldHolds(sql, prefix, { now, before: dayAgo }),
      // Logins of the database are no business of one team.
      prefix === null ? readForeignLocks(sql) : [],
      // Only a caller of all keys may go on with a move.
      prefix === null ? readUnfinishedMoves(sql, new Date(now.getTime() - lateAfterMs)) : [],
    ]);
  const problems = ranked([
    ...tickProblems(beat),
    ...foreignLockProblems(locks),
    ...lateProblems(late, { live, prefix, dueBefore: new Date(now.getTime() - lateAfterMs) }),
    ...fullBacklogProblems(owed, { now, prefix }),
    ...unfinishedMoveProblems(moves),
    ...deadProblems(dead, prefix),
    ...(losses === null ? [] : lossProblems(losses)),
    ...outageProblems(outages, dayAgo),
    ...keptProblems({ commands, inbox, quarantined, holds }, prefix),
  ]);
  return { asOf: now, ...verdictOf(now, problems), problems };
}

async function readTickBeat(sql: Sql): Promise<TickBeat> {
  const [row] = await sql<TickBeat[]>`
    select carillon.clock() as now, (select min(watermark_at) from carillon.shards) as "plannedTo",
      (select rolled_up_at from carillon.schedule_counts) as "lastTickAt"`;
  if (row === undefined) throw new Error("The database's clock gave no time.");
  return row;
}

const stops: ReadonlySet<ProblemKind> = new Set(["no-tick", "no-worker"]);
const delays: ReadonlySet<ProblemKind> = new Set(["plan-behind", "late-jobs", "backlog-full"]);

/** A target whose limits are used up makes jobs late on purpose, so it leaves the verdict as it is. */
function verdictOf(now: Date, problems: readonly Problem[]): Pick<Problems, "verdict" | "text"> {
  const stopped = problems.find(({ kind }) => stops.has(kind));
  if (stopped !== undefined) return { verdict: "stopped", text: `Stopped. ${stopped.text}` };
  const delayed = problems.filter(({ kind }) => delays.has(kind));
  const late = delayed.filter(({ count }) => count.count > 0);
  if (late.length === 0)
    return { verdict: "on-time", text: ["On time.", ...delayed.map((each) => each.text)].join(" ") };
  const since = Math.min(...late.map((each) => each.since?.getTime() ?? now.getTime()));
  return { verdict: "late", text: `Late by ${spanText(now.getTime() - since)}. ${late[0]?.text ?? ""}` };
}
