import { oneByOneMax, TooMuchAtOnce } from "../batch/apply-wave.ts";
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
import { inHalves, mayBeOfARow } from "../quarantine/in-halves.ts";
import { PassingConflict, Refusal } from "../refusal.ts";
import type { Acceptance } from "./acceptance.ts";
import {
  applyCommands,
  type CommandResult,
  keyIn,
  type ReadCommand,
  readCommands,
  readOrRefuse,
} from "./apply-commands.ts";
import type { Command } from "./command-shape.ts";

export interface BatchDeps extends EditDeps {
  acceptance: Acceptance;
  log: Log;
}

/**
 * Why an operation was not done that nothing is known to be wrong with. `failed`: Carillon itself failed on it. `busy`: it waited too long
 * for a lock, or a statement took too long. `behind`: an operation before it on its key was not done. `untried`: the time of the batch was up.
 */
export type NotDone = "failed" | "busy" | "behind" | "untried";

/** The result of one operation of a batch. */
export type BatchResult = CommandResult | { change: "not-done"; key: string | null; why: NotDone };

/** How long one statement may take in each part of a batch after the first: the gates are closed meanwhile. */
const partStatementMs = 1_000;

/** Then no more operations are read: payloads that their schemas take long over must not take the time of the others. */
const readMs = 8_000;

/** Then no more parts are begun: the function lives for 29 s, and a statement of the first transaction may take ten of them. */
const beginMs = 23_000;

/** Where so many operations fail alone, they have something in common, and the others are not tried. */
const failuresMax = 20;

/** After so many tries of a request its answer is its last, so that what is kept of it stays small. */
const passesMax = 10;

/** Each may count twice: as one that is done by itself, and as one of several of a key. */
const partMax = oneByOneMax / 2;

/** How a part of a batch failed; as plain data, since it is kept with a request that may be repeated. */
const failures = ["too-much", "busy", "failed"] as const;
type Failure = (typeof failures)[number];

interface Item {
  index: number;
  key: string | null;
  command: Command;
  /** The command as it was read; undefined until it was. */
  known?: ReadCommand;
}

interface Batch extends BatchDeps {
  results: BatchResult[];
  timeIsUp: () => boolean;
  /** Under which the log has the request. */
  request: string | undefined;
}

/** One pass through what is not done. */
interface Pass extends Batch {
  size: number;
  failed: number;
  /** Keys of operations that were not done. */
  behind: Set<string>;
}

/**
 * Applies a batch and says what became of each operation, in their order. All are applied in one transaction; where that fails for a
 * reason that may be one operation's, in halves, until that operation stands alone. What follows it on its key waits with it.
 * A failure of the database as a whole is thrown, and so is every failure of a batch that is done as a whole or not at all.
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
    // A request that is worked again repeats what it came to, and then tries once more what was not done.
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
    if (error instanceof TooMuchAtOnce) throw new Refusal("impossible", error.message);
    if (!(error instanceof UnfoldingTooLong)) throw error;
    throw new Refusal("impossible", `${error.message} Send fewer at once.`);
  }
}

function readItem({ acceptance }: BatchDeps, item: Item): ReadCommand {
  item.known ??= readOrRefuse(item.command, acceptance);
  return item.known;
}

/** The operations that could be read in time; the others are reported as untried. */
function readInTime({ acceptance, queue: { timing } }: BatchDeps, items: readonly Item[]): readonly Item[] {
  const until = timing.now() + readMs;
  const reads = eachWithinLimit(items, ({ command }) => {
    if (timing.now() > until) return "untried";
    try {
      return readOrRefuse(command, acceptance);
    } catch {
      // Its part reads it again, and reports the failure.
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
    if (failure === "too-much" && sent.length > partMax) {
      for (let from = 0; from < sent.length; from += partMax)
        await inHalves(sent.slice(from, from + partMax), apply, stop);
      return;
    }
    if (sent.length > 1) throw new PartFailed();
    pass.failed += 1;
    leave(pass, first, failure === "busy" ? "busy" : "failed");
  };
  await inHalves(items, apply, stop);
}

/** Each half is to be tried. */
class PartFailed extends Error {
  override readonly name = "PartFailed";
}

/** In one transaction. Null where it is done, otherwise how it failed. */
async function applyPart(pass: Pass, items: readonly Item[]): Promise<Failure | null> {
  const isWhole = items.length === pass.size;
  try {
    const read = items.map((item) => readItem(pass, item));
    const act = () => applyCommands(pass, read, isWhole ? {} : { before: boundedPart });
    const applied = await inItsTime(pass.queue.timing, act);
    for (const [n, result] of applied.entries()) pass.results[items[n]?.index ?? -1] = result;
    return null;
  } catch (error) {
    if (error instanceof FailedBefore) return failures.find((each) => each === error.failure) ?? "failed";
    // Others are in the way at this moment, and nothing of the batch is done.
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

function failureOf(error: unknown): Failure {
  if (error instanceof TooMuchAtOnce || error instanceof UnfoldingTooLong) return "too-much";
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
