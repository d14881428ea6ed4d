import type { Acceptance } from "../command/acceptance.ts";
import { inItsTime } from "../db/bounded.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { eachWithinLimit } from "../job/schema-time.ts";
import type { Log } from "../log/log.ts";
import { type Halved, inHalves, mayBeOfARow, OfNoRow } from "../quarantine/in-halves.ts";
import { putAside as putRowsAside } from "../quarantine/try-rows.ts";
import { applyTogether, type RefusedRow, refuseTogether, type UnderstoodRow } from "./apply-rows.ts";
import { forgetGone, type InboxRow, readCommandRows, waitingCommands } from "./inbox-rows.ts";
import { type ReadRow, readInboxRow } from "./read-inbox.ts";

export interface InboxDeps extends EditDeps {
  acceptance: Acceptance;
  log: Log;
}

export interface InboxBounds {
  /** The most commands of one run. */
  most: number;
  /** Once true, nothing more is begun. */
  timeIsUp: () => boolean;
  /**
   * Once true, work under way is left too: a batch that is divided to find its failing command is
   * divided no further. Defaults to `timeIsUp`.
   */
  mustEnd?: () => boolean;
}

/**
 * The numbers of commands that were applied, refused, and set aside because Carillon failed on
 * them.
 */
export interface InboxApplied {
  applied: number;
  refused: number;
  failed: number;
  /** True if a limit was reached before the end of the inbox. */
  more: boolean;
}

const chunkMax = 1_000;
/** The most commands that one run lists. A tick has time for about as many. */
const runMax = 10_000;
/**
 * After a hundred failures a run does not isolate failing commands any more: batches that fail are
 * left to the next run, and the others are applied.
 */
const failuresMax = 100;
interface Run extends InboxDeps, Omit<InboxApplied, "more"> {
  bounds: Required<InboxBounds>;
  /** The number of commands left to the next run. */
  left: number;
  /**
   * The first command of each key that was not applied. Later commands of the key wait, to keep
   * their order.
   */
  failedAt: Map<string, string>;
}

/**
 * Applies the commands of the inbox in transactions of up to a thousand, those of each caller and
 * those of each key oldest first, by turns of the callers. Of several runs at once, one applies at a time, and each command leaves the inbox in the transaction that
 * applies it, so a crash neither repeats nor loses one. A command that cannot be applied is refused
 * and kept with the reason. A command on which Carillon itself fails stays, is set aside until its
 * next attempt, and holds up only later commands of its key.
 */
export async function applyInbox(deps: InboxDeps, bounds: InboxBounds): Promise<InboxApplied> {
  const run: Run = {
    ...deps,
    bounds: { mustEnd: bounds.timeIsUp, ...bounds },
    applied: 0,
    refused: 0,
    failed: 0,
    left: 0,
    failedAt: new Map(),
  };
  await forgetGone(run.sql);
  const { lists, more } = await waitingCommands(run.sql, {
    most: Math.min(bounds.most, runMax),
    together: chunkMax,
  });
  for (const { ids, tried } of lists) {
    if (bounds.timeIsUp()) break;
    await applyRows(run, await readCommandRows(run.sql, ids), tried);
  }
  const { applied, refused, failed } = run;
  return { applied, refused, failed, more: more || run.left > 0 || bounds.timeIsUp() };
}

/** The limits of one request, which answers afterwards. */
const atOnce = { most: 10_000, ms: 8_000 };

/** Applies the inbox for a caller that waits for the answer. */
export async function applyInboxAtOnce(deps: InboxDeps): Promise<InboxApplied> {
  const { timing } = deps.queue;
  const until = timing.now() + atOnce.ms;
  const timeIsUp = () => timing.now() > until;
  const sum = { applied: 0, refused: 0, failed: 0, more: true };
  for (let left = atOnce.most; sum.more && left > 0; ) {
    const { applied, refused, failed, more } = await applyInbox(deps, { most: left, timeIsUp });
    sum.applied += applied;
    sum.refused += refused;
    sum.failed += failed;
    sum.more = more;
    if (applied + refused === 0) break;
    left -= applied + refused + failed;
  }
  return sum;
}

async function applyRows(run: Run, rows: readonly InboxRow[], tried: boolean): Promise<void> {
  const reads = eachWithinLimit(rows, (row) => readRow(run, row));
  const understood: UnderstoodRow[] = [];
  const refused: RefusedRow[] = [];
  for (const [index, row] of rows.entries()) {
    const read = reads[index];
    if (read === undefined) run.left += 1;
    else if ("error" in read) await putAside(run, row, read.error);
    else if ("operation" in read) understood.push(read);
    else refused.push(read);
  }
  await tryAll(run, refused, async (some) => {
    run.refused += await refuseTogether(run, some, tried);
  });
  await tryAll(run, understood, async (some) => {
    const commands = some.filter(({ row, operation: { key } }) => !waitsFor(run.failedAt.get(key), row));
    if (commands.length === 0) return;
    const done = await applyTogether(run, commands, tried);
    run.applied += done.applied;
    run.refused += done.refused;
  });
}

/**
 * `error`: Carillon itself failed on the command. Undefined if the time is up, since a handler's
 * schema may take long for each payload. Commands that were read by then are applied, and the
 * others are left to the next run.
 */
function readRow(run: Run, row: InboxRow): ReadRow | { error: unknown } | undefined {
  if (run.bounds.timeIsUp()) return undefined;
  try {
    return readInboxRow(row, run.acceptance);
  } catch (error) {
    return { error };
  }
}

/** Tries all rows together; if that fails, in halves, so that no row holds up another. */
async function tryAll<Row extends ReadRow>(
  run: Run,
  rows: readonly Row[],
  act: (rows: readonly Row[]) => Promise<void>,
): Promise<void> {
  const attempt = async (some: readonly Row[]) => {
    try {
      await inItsTime(run.queue.timing, () => act(some));
    } catch (error) {
      const [first, ...others] = some;
      // Set aside at once, so that later commands of its key wait, and the record exists even if
      // this run is killed.
      if (first !== undefined && others.length === 0 && mayBeOfARow(error))
        await putAside(run, first.row, error);
      throw error;
    }
  };
  const stop = () => run.bounds.mustEnd() || run.failed >= failuresMax;
  const trying = run.failed < failuresMax ? inHalves(rows, attempt, stop) : onlyTogether(rows, attempt);
  const { left } = await trying.catch((error: unknown) => {
    throw error instanceof OfNoRow ? error.cause : error;
  });
  for (const { row } of left) leave(run, row);
  run.left += left.length;
}

async function onlyTogether<Row>(
  rows: readonly Row[],
  attempt: (rows: readonly Row[]) => Promise<void>,
): Promise<Pick<Halved<Row>, "left">> {
  try {
    await attempt(rows);
    return { left: [] };
  } catch (error) {
    if (!mayBeOfARow(error)) throw error;
    return { left: [...rows] };
  }
}

function waitsFor(failedAt: string | undefined, { id }: InboxRow): boolean {
  return failedAt !== undefined && BigInt(id) > BigInt(failedAt);
}

/** Leaves a command to the next run, so that later commands of its key wait too. */
function leave(run: Run, { id, key }: InboxRow): void {
  const known = run.failedAt.get(key);
  if (known === undefined || BigInt(id) < BigInt(known)) run.failedAt.set(key, id);
}

async function putAside(run: Run, row: InboxRow, error: unknown): Promise<void> {
  run.failed += 1;
  leave(run, row);
  await putRowsAside({ ...run, consumer: "inbox" }, [{ item: row.id, error, detail: { key: row.key } }]);
}
