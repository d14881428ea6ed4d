import { applyOperations } from "../batch/apply-operations.ts";
import type { Applied } from "../batch/operation.ts";
import { boundStatements, inItsTime } from "../db/bounded.ts";
import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { lockInboxShared } from "../db/locks.ts";
import { isGone, type Refused } from "../refusal.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { type DeadCommand, forgetDead, noteDead } from "./dead-commands.ts";
import type { IngestDeps } from "./ingest-deps.ts";
import { lockMarks, MarksMoved, readMarks, writeMarks } from "./marks.ts";
import type { Kept } from "./memory.ts";
import { type ChunkPlan, planChunk, remembered } from "./plan-chunk.ts";
import type { Received } from "./received.ts";
import { readReleases } from "./releases.ts";
import { hasMoved, readStandings } from "./standing.ts";
import { operationAgain, type Understood } from "./understand.ts";

/**
 * The result of a command. `early`: its schedule does not exist yet, but may exist a moment later.
 */
export type Outcome =
  | { became: "applied"; change: "created" | "changed" | "unchanged" | "deleted" }
  | { became: "passed-over" }
  | { became: "refused"; refusal: Refused }
  | { became: "early"; refusal: Refused };

export interface Chunk {
  /** In the order in which they were given. */
  commands: readonly Understood[];
  /**
   * Commands refused earlier, to be recorded in the same transaction. Null if refused commands are
   * on record already.
   */
  dead: readonly DeadCommand[] | null;
  /** Whether a command without its schedule may wait for it. */
  mayWait(command: Understood): boolean;
  /** The caller of earlier commands that are repeated; the queue if left out. */
  as?: Caller;
  /** Runs last in the transaction. */
  after?: (tx: Tx, outcomes: ReadonlyMap<Understood, Outcome>) => Promise<void>;
}

/**
 * How often a transaction begins. If several commands conflict with other edits that often, they
 * are applied in halves.
 */
const beginningsMax = { alone: 20, together: 4 };

/**
 * Applies commands and updates the marks of their keys in one transaction. It begins again if
 * another edit has changed the same keys since they were read.
 */
export async function applyChunk(deps: IngestDeps, chunk: Chunk): Promise<Map<Understood, Outcome>> {
  const most = chunk.commands.length > 1 ? beginningsMax.together : beginningsMax.alone;
  for (let beginning = 1; ; beginning++) {
    try {
      return await inItsTime(deps.queue.timing, () => applyOnce(deps, chunk));
    } catch (error) {
      if (!(error instanceof MarksMoved) || beginning === most) throw error;
    }
  }
}

async function applyOnce(deps: IngestDeps, chunk: Chunk): Promise<Map<Understood, Outcome>> {
  const { commands, dead, mayWait, as, after } = chunk;
  const oldest = oldestByKey(commands);
  const [now, markOf, standingOf] = await Promise.all([
    databaseClock(deps.sql),
    readMarks(deps.sql, [...oldest.keys()]),
    readStandings(deps.sql, oldest),
  ]);
  const isReleased = await readReleases(deps.sql, commands, markOf);
  const again = (kept: Kept) => operationAgain(deps, kept, now, as);
  const plan = planChunk(commands, { memoryOf: markOf, standingOf, isReleased, again });
  // Only the marks of these commands are locked. Commands that are late need none: marks only grow,
  // so they stay late whatever other edits do meanwhile.
  const concerned = [
    ...plan.steps.map(({ operation }) => operation),
    ...plan.noted.map(({ operation }) => operation),
  ];
  const marks = new Map(concerned.map(({ key }) => [key, markOf(key)]));
  const settle = async (tx: Tx, applied: readonly Applied[]) => {
    if (hasMoved(applied, standingOf)) throw new MarksMoved();
    const told = tell(plan, applied, mayWait);
    const taken = commands.filter(
      (command) => plan.noted.includes(command) || told.outcomes.get(command)?.became === "applied",
    );
    const lost = new Set(told.lost.map(({ kept }) => kept));
    await writeMarks(tx, remembered(taken, markOf, lost));
    if (dead !== null) await noteDead(tx, [...dead, ...deadAmong(told.outcomes)], deps.prefix);
    await forgetDead(
      tx,
      taken.flatMap(({ received }) => (received.isAgain ? [received] : [])),
    );
    await after?.(tx, told.outcomes);
  };
  if (marks.size === 0 && (dead ?? []).length === 0 && after === undefined)
    return tell(plan, [], mayWait).outcomes;
  const applied = await applyOperations(
    deps,
    plan.steps.map(({ operation }) => operation),
    {
      before: async (tx) => {
        await lockInboxShared(tx);
        await boundStatements(tx);
        if (marks.size > 0) await lockMarks(tx, marks);
        return new Set();
      },
      after: settle,
    },
  );
  // Based on the recorded result: a repeated request receives that result and does not run the
  // callback.
  const told = tell(plan, applied, mayWait);
  for (const { kept, key, refusal } of told.lost)
    deps.log.warn("ingest.not-again", { key, command: kept.id, kind: refusal.kind });
  return told.outcomes;
}

function oldestByKey(commands: readonly Understood[]): Map<string, Date> {
  const oldest = new Map<string, Date>();
  for (const { operation, received } of commands) {
    const known = oldest.get(operation.key);
    if (known === undefined || received.at < known) oldest.set(operation.key, received.at);
  }
  return oldest;
}

interface Told {
  outcomes: Map<Understood, Outcome>;
  /**
   * Commands that were applied before. An older command came late, so they were repeated after it,
   * and this time they were refused.
   */
  lost: { kept: Kept; key: string; refusal: Refused }[];
}

function tell(plan: ChunkPlan, applied: readonly Applied[], mayWait: Chunk["mayWait"]): Told {
  const told: Told = { outcomes: new Map(), lost: [] };
  for (const command of plan.passedOver) told.outcomes.set(command, { became: "passed-over" });
  for (const [index, { of, again }] of plan.steps.entries()) {
    // A repeated request has the results of its first run, which may be fewer than the steps: another
    // edit came between.
    const result = applied[index] ?? { change: "passed-over" as const, key: "" };
    if (of !== null) told.outcomes.set(of, outcomeOf(of, result, mayWait));
    else if (again !== undefined && result.change === "refused")
      told.lost.push({ kept: again, key: result.key, refusal: result.refusal });
  }
  return told;
}

function outcomeOf(of: Understood, result: Applied, mayWait: Chunk["mayWait"]): Outcome {
  if (result.change === "passed-over") return { became: "passed-over" };
  if (result.change !== "refused") return { became: "applied", change: result.change };
  const { refusal } = result;
  const isMissing = isGone(refusal);
  // The delete has overtaken its put, or another caller deleted first. Either way the schedule does
  // not exist, as requested.
  if (isMissing && of.operation.kind === "delete") return { became: "applied", change: "unchanged" };
  const isEarly = isMissing && mayWait(of);
  return { became: isEarly ? "early" : "refused", refusal };
}

function deadAmong(outcomes: ReadonlyMap<Understood, Outcome>): DeadCommand[] {
  return [...outcomes].flatMap(([{ received, operation }, outcome]) =>
    outcome.became === "refused" ? [deadOf(received, operation.key, outcome.refusal)] : [],
  );
}

export function deadOf(
  { messageId, place, id, at, command }: Received,
  key: string | null,
  refusal: Refused,
): DeadCommand {
  return { messageId, place, commandId: id, at, key, refusal, command };
}
