import * as z from "zod";
import type { ApplyOptions } from "../batch/operation.ts";
import { boundStatements, inItsTime, TookTooLong } from "../db/bounded.ts";
import type { Tx } from "../db/connect.ts";
import { isPassingFailure } from "../db/passing-failure.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { FailedBefore, isRepeating, leaveOpen, noteFailure } from "../idempotency/remembered-sql.ts";
import { eachWithinLimit } from "../job/schema-time.ts";
import { errorText, framesOf } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { UnfoldingTooLong } from "../plan/unfolding-time.ts";
import { FewerFit, inHalves, mayBeOfARow } from "../quarantine/in-halves.ts";
import { PassingConflict, Refusal } from "../refusal.ts";
import type { Acceptance } from "./acceptance.ts";
import {
  applyCommands,
  type CommandResult,
  type ReadCommand,
  readCommands,
  readOrRefuse,
} from "./apply-commands.ts";
import { type Command, keyIn } from "./command-shape.ts";

export interface BatchDeps extends EditDeps {
  acceptance: Acceptance;
  log: Log;
}

/**
 * Why an operation without a known fault was not done. `failed`: Carillon itself failed on it.
 * `busy`: it waited too long for a lock, or a statement took too long. `behind`: an earlier
 * operation on its key was not done. `untried`: the time of the batch was up.
 */
export type NotDone = "failed" | "busy" | "behind" | "untried";

export type BatchResult = CommandResult | { change: "not-done"; key: string | null; why: NotDone };

/**
 * The time limit of one statement in the parts of a batch that is divided. It is short, because an
 * edit holds the gates of its shards meanwhile.
 */
const partStatementMs = 1_000;

/**
 * After this time no more operations are read, so that payloads with slow schemas do not use up the
 * time of the others.
 */
const readMs = 8_000;

/**
 * After this time no more parts are begun: the function lives for 29 s, and a statement of the
 * first transaction may take ten of them.
 */
const beginMs = 23_000;

/**
 * After this number of operations that failed alone, the failures have a common cause, and the
 * other operations are not tried.
 */
const failuresMax = 20;

/**
 * After this many attempts of one request its answer is final, so that the record of its results
 * stays small.
 */
const passesMax = 10;

/**
 * How a part of a batch failed: too many operations, with the number that may fit and the order in
 * which they are divided, or otherwise. Plain data, because it is kept with a request that may be
 * repeated.
 */
const failures = ["busy", "failed"] as const;
type Failure = (typeof failures)[number] | number | z.infer<typeof ordered>;

const ordered = z.object({ fit: z.number(), order: z.array(z.number()) });

interface Item {
  index: number;
  key: string | null;
  command: Command;
  /** The command after it was read; undefined before. */
  known?: ReadCommand;
}

interface Batch extends BatchDeps {
  results: BatchResult[];
  timeIsUp: () => boolean;
  /** The id of the request in the log. */
  request: string | undefined;
}

/** One pass over the operations that are not done. */
interface Pass extends Batch {
  size: number;
  failed: number;
  /** Keys of operations that were not done in this pass. */
  behind: Set<string>;
}

/**
 * Applies a batch and returns one result for each operation, in their order. All operations are
 * applied in one transaction. If that fails for a reason that may lie in one operation, the batch
 * is applied in halves, until the failing operation is alone. Later operations on its key wait with
 * it. A failure of the database as a whole is thrown, and so is every failure of an all-or-nothing
 * batch.
 */
export async function applyBatch(
  deps: BatchDeps,
  commands: readonly Command[],
  { allOrNothing = false }: Pick<ApplyOptions, "allOrNothing"> = {},
): Promise<BatchResult[]> {
  if (allOrNothing) return applyAtomic(deps, commands);
  const { timing } = deps.queue;
  const until = timing.now() + beginMs;
  const items = commands.map((command, index): Item => ({ index, key: keyIn(command.input), command }));
  let open = readInTime(deps, items);
  const batch: Batch = {
    ...deps,
    results: items.map(untried),
    timeIsUp: () => timing.now() > until,
    request: commands[0]?.caller.origin?.request,
  };
  for (let pass = 1; ; pass += 1) {
    await applyPass(batch, open);
    open = open.filter(({ index }) => batch.results[index]?.change === "not-done");
    if (open.length === 0 || pass === passesMax) break;
    // A repeated request first replays the results that were kept, and then tries the operations
    // that are not done once more.
    if (isRepeating()) continue;
    leaveOpen();
    break;
  }
  const left = batch.results.filter((result) => result.change === "not-done" && result.why === "untried");
  if (left.length > 0) deps.log.warn("batch.untried", { request: batch.request, operations: left.length });
  return batch.results;
}

async function applyAtomic(deps: BatchDeps, commands: readonly Command[]): Promise<CommandResult[]> {
  try {
    return await applyCommands(deps, readCommands(commands, deps.acceptance), { allOrNothing: true });
  } catch (error) {
    if (!(error instanceof FewerFit)) throw error;
    const advice = error instanceof UnfoldingTooLong ? " Send fewer at once." : "";
    throw new Refusal("impossible", `${error.message}${advice}`);
  }
}

function readItem({ acceptance }: BatchDeps, item: Item): ReadCommand {
  item.known ??= readOrRefuse(item.command, acceptance);
  return item.known;
}

/** The operations that could be read in time. The others are reported as untried. */
function readInTime({ acceptance, queue: { timing } }: BatchDeps, items: readonly Item[]): readonly Item[] {
  const until = timing.now() + readMs;
  const reads = eachWithinLimit(items, ({ command }) => {
    if (timing.now() > until) return "untried";
    try {
      return readOrRefuse(command, acceptance);
    } catch {
      // The part of the batch with this command reads it again and reports the failure.
      return "failed";
    }
  });
  return items.filter((item, index) => {
    const read = reads[index];
    if (typeof read === "object") item.known = read;
    return read !== "untried";
  });
}

async function applyPass(batch: Batch, items: readonly Item[]): Promise<void> {
  const pass: Pass = { ...batch, size: items.length, failed: 0, behind: new Set() };
  const stop = () => pass.timeIsUp() || pass.failed >= failuresMax;
  for (const item of items) pass.results[item.index] = untried(item);
  const apply = async (part: readonly Item[]): Promise<void> => {
    const sent = part.filter(({ key }) => key === null || !pass.behind.has(key));
    for (const item of part) if (!sent.includes(item)) leave(pass, item, "behind");
    const [first] = sent;
    if (first === undefined) return;
    const failure = await applyPart(pass, sent);
    if (failure === null) return;
    if (sent.length > 1) throw partFailure(failure);
    pass.failed += 1;
    leave(pass, first, failure === "busy" ? "busy" : "failed");
  };
  await inHalves(items, apply, stop);
}

/** Tells `inHalves` to try each half. */
class PartFailed extends Error {
  override readonly name = "PartFailed";
}

function partFailure(failure: Failure): Error {
  if (typeof failure === "string") return new PartFailed();
  const { fit, order } = typeof failure === "number" ? { fit: failure, order: undefined } : failure;
  return new FewerFit("Too many operations.", fit, order);
}

/** Applies operations in one transaction. Null if they are done, otherwise how they failed. */
async function applyPart(pass: Pass, items: readonly Item[]): Promise<Failure | null> {
  const isWhole = items.length === pass.size;
  try {
    const read = items.map((item) => readItem(pass, item));
    const act = () => applyCommands(pass, read, isWhole ? {} : { before: boundedPart });
    const applied = await inItsTime(pass.queue.timing, act);
    for (const [n, result] of applied.entries()) pass.results[items[n]?.index ?? -1] = result;
    return null;
  } catch (error) {
    if (error instanceof FailedBefore) return keptFailure(error.failure);
    // A passing conflict of the whole batch is thrown: nothing is done, and a retry may succeed.
    if (!mayBeOfARow(error) || (isWhole && error instanceof PassingConflict)) throw error;
    const failure = failureOf(error);
    const [item] = items;
    if (items.length === 1 && item !== undefined) logFailed(pass, item, error);
    await noteFailure(pass.sql, failure);
    return failure;
  }
}

async function boundedPart(tx: Tx): Promise<ReadonlySet<number>> {
  await boundStatements(tx, partStatementMs);
  return new Set();
}

function keptFailure(kept: unknown): Failure {
  if (typeof kept === "number") return kept;
  const { data } = ordered.safeParse(kept);
  return data ?? failures.find((each) => each === kept) ?? "failed";
}

function failureOf(error: unknown): Failure {
  if (error instanceof FewerFit)
    return error.order === undefined ? error.fit : { fit: error.fit, order: [...error.order] };
  const isOfTheMoment =
    isPassingFailure(error) || error instanceof TookTooLong || error instanceof PassingConflict;
  return isOfTheMoment ? "busy" : "failed";
}

function logFailed({ log, request }: Batch, { index, key }: Item, error: unknown): void {
  log.error("batch.failed", {
    request,
    operation: index,
    key,
    error: errorText(error),
    stack: framesOf(error),
  });
}

function leave(pass: Pass, { index, key }: Item, why: NotDone): void {
  pass.results[index] = { change: "not-done", key, why };
  if (key !== null) pass.behind.add(key);
}

const untried = ({ key }: Item): BatchResult => ({ change: "not-done", key, why: "untried" });
