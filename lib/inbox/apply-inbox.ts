import type { Acceptance } from "../command/acceptance.ts";
import { belowVerb } from "../command/command-shape.ts";
import { withoutCredentials } from "../command/without-credentials.ts";
import { ConnectionLost } from "../db/connection-lost.ts";
import { lockInbox } from "../db/locks.ts";
import { type SqlState, sqlState } from "../db/sql-state.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { applyOperations } from "../plan/apply-operations.ts";
import { TooMuchAtOnce } from "../plan/apply-wave.ts";
import type { EditDeps } from "../plan/edit-transaction.ts";
import type { Applied, Operation, Refused } from "../plan/operation.ts";
import {
  type InboxRefusal,
  type InboxRow,
  readCommandRows,
  refuseCommands,
  removeCommands,
  stillThere,
  waitingCommands,
} from "./inbox-rows.ts";
import { overtakenByQueue, tellQueue } from "./queue-order.ts";
import { keyIn, type ReadRow, readInboxRow } from "./read-inbox.ts";

export interface InboxDeps extends EditDeps {
  acceptance: Acceptance;
  log: Log;
}

export interface InboxBounds {
  /** So many commands at most. */
  most: number;
  timeIsUp: () => boolean;
}

/** How many commands were applied, refused, and left because Carillon failed on them. */
export interface InboxApplied {
  applied: number;
  refused: number;
  failed: number;
  /** True where a bound was reached before the end of the inbox. */
  more: boolean;
  /** Why it failed on commands. */
  failures: unknown[];
}

const chunkMax = 1_000;
/** So many are looked at by one run at most. */
const runMax = 250_000;
/** After so many failures it is no longer single commands that are at fault. */
const failuresMax = 100;

interface Run extends InboxDeps, Omit<InboxApplied, "more"> {
  bounds: InboxBounds;
  tries: number;
  /** The command of a key that Carillon failed on: what comes after it waits, so that the order of a key stays. */
  failedAt: Map<string, string>;
}

/**
 * Applies what callers have written into the inbox, oldest first, in transactions of up to a thousand. Appliers take turns, and each
 * command leaves the inbox in the transaction that applies it: so nothing is applied twice or lost, wherever one is killed.
 * A command that cannot be applied is refused and kept with the reason. One that Carillon itself fails on stays where it is and keeps
 * none but those of its own key.
 */
export async function applyInbox(deps: InboxDeps, bounds: InboxBounds): Promise<InboxApplied> {
  const run: Run = {
    ...deps,
    bounds,
    applied: 0,
    refused: 0,
    failed: 0,
    failures: [],
    tries: 0,
    failedAt: new Map(),
  };
  const most = Math.min(bounds.most, runMax);
  // What there is, of one moment: of a transaction that commits meanwhile all is left to the next run, and none overtakes another.
  const lists = await waitingCommands(run.sql, { most, together: chunkMax });
  let looked = 0;
  for (const ids of lists) {
    if (bounds.timeIsUp()) break;
    await applyRows(run, await readCommandRows(run.sql, ids));
    looked += ids.length;
  }
  const more = looked === most || looked < lists.flat().length || bounds.timeIsUp();
  const { applied, refused, failed, failures } = run;
  return { applied, refused, failed, more, failures };
}

/** What one request does before it answers. */
const atOnce = { most: 10_000, ms: 8_000 };

/** For somebody who waits for it. */
export function applyInboxAtOnce(deps: InboxDeps): Promise<InboxApplied> {
  const until = performance.now() + atOnce.ms;
  return applyInbox(deps, { most: atOnce.most, timeIsUp: () => performance.now() > until });
}

type Understood = Extract<ReadRow, { operation: Operation }>;

async function applyRows(run: Run, rows: readonly InboxRow[]): Promise<void> {
  const understood: Understood[] = [];
  const refused: RefusedRow[] = [];
  for (const row of rows) {
    const read = readOrNote(run, row);
    if (read === null) continue;
    if ("operation" in read) understood.push(read);
    else refused.push(read);
  }
  await refuseThem(run, refused);
  await applyUnderstood(run, understood);
}

/** Null where reading it fails for a reason that is none of the caller's. */
function readOrNote(run: Run, row: InboxRow): ReadRow | null {
  try {
    return readInboxRow(row, run.acceptance);
  } catch (error) {
    noteFailure(run, { row, key: keyIn(JSON.parse(row.command)) }, error);
    return null;
  }
}

type RefusedRow = Extract<ReadRow, { refusal: Refused }>;

/** All together; where that fails, in halves, so that none stands in the way of another. */
async function refuseThem(run: Run, refused: readonly RefusedRow[]): Promise<void> {
  await inHalves(run, refused, async (rows) => {
    run.refused += await refuseCommands(
      run.sql,
      rows.map((read) => refusalOf(read, read.refusal)),
    );
  });
}

async function applyUnderstood(run: Run, asked: readonly Understood[]): Promise<void> {
  await inHalves(run, asked, async (rows) => {
    const commands = rows.filter(({ row, operation: { key } }) => !waitsFor(run.failedAt.get(key), row));
    if (commands.length > 0 && !run.bounds.timeIsUp()) await applyTogether(run, commands);
  });
}

/** All together; where that fails, each half by itself, until what fails is alone. */
async function inHalves<Row extends ReadRow>(
  run: Run,
  rows: readonly Row[],
  act: (rows: readonly Row[]) => Promise<void>,
): Promise<void> {
  const [first, ...others] = rows;
  if (first === undefined) return;
  try {
    await act(rows);
  } catch (error) {
    // No failure: halves of it fit into one transaction.
    if (!(error instanceof TooMuchAtOnce)) run.tries += 1;
    if (concernsAll(error) || run.tries > failuresMax) throw error;
    if (others.length === 0) return noteFailure(run, first, error);
    const half = Math.ceil(rows.length / 2);
    await inHalves(run, rows.slice(0, half), act);
    await inHalves(run, rows.slice(half), act);
  }
}

function waitsFor(failedAt: string | undefined, { id }: InboxRow): boolean {
  return failedAt !== undefined && BigInt(id) > BigInt(failedAt);
}

async function applyTogether(run: Run, commands: readonly Understood[]): Promise<void> {
  const ids = commands.map(({ row }) => row.id);
  const applied = await applyOperations(
    run,
    commands.map(({ operation }) => operation),
    {
      before: async (tx) => {
        await lockInbox(tx);
        const there = await stillThere(tx, ids);
        const late = await overtakenByQueue(tx, commands);
        return new Set(ids.flatMap((id, index) => (there.has(id) && !late.has(index) ? [] : [index])));
      },
      after: async (tx, results) => {
        const refusals = refusalsAmong(commands, results);
        const refused = new Set(refusals.map(({ id }) => id));
        await tellQueue(
          tx,
          commands.filter((command, index) => foundNothing(command.operation, results[index])),
        );
        await refuseCommands(tx, refusals);
        await removeCommands(
          tx,
          ids.filter((id) => !refused.has(id)),
        );
      },
    },
  );
  const refused = refusalsAmong(commands, applied).length;
  const passedOver = applied.filter(({ change }) => change === "passed-over").length;
  run.refused += refused;
  run.applied += commands.length - refused - passedOver;
}

function refusalsAmong(commands: readonly Understood[], results: readonly Applied[]): InboxRefusal[] {
  return commands.flatMap((command, index) => {
    const result = results[index];
    if (result?.change !== "refused" || foundNothing(command.operation, result)) return [];
    const { message, faults } = result.refusal;
    return [refusalOf(command, { message, faults: belowVerb(command.verb, faults) })];
  });
}

/** What is to be gone and is not there is done: the schedule may have ended by itself meanwhile. */
function foundNothing({ kind, ifMatch }: Operation, result: Applied | undefined): boolean {
  if (kind !== "delete" || ifMatch !== undefined) return false;
  return result?.change === "refused" && result.refusal.kind === "missing";
}

function refusalOf(
  { row: { id }, key, command }: ReadRow,
  { message, faults }: Pick<Refused, "message" | "faults">,
): InboxRefusal {
  return { id, key, command: withoutCredentials(command), problem: message, faults };
}

function noteFailure(run: Run, { row: { id }, key }: Pick<ReadRow, "row" | "key">, error: unknown): void {
  run.failed += 1;
  run.failures.push(error);
  if (key !== null && !run.failedAt.has(key)) run.failedAt.set(key, id);
  run.log.error("inbox.failed", { command: id, error: errorText(error) });
}

const ofTheServer: ReadonlySet<SqlState | undefined> = new Set<SqlState>([
  "no_answer",
  "read_only",
  "shutdown",
  "starting",
  "too_many_connections",
]);

/** No command would fare better alone. */
function concernsAll(error: unknown): boolean {
  return error instanceof ConnectionLost || ofTheServer.has(sqlState(error));
}
