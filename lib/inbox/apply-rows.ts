import { applyOperations } from "../batch/apply-operations.ts";
import type { Applied, Operation } from "../batch/operation.ts";
import { belowVerb } from "../command/command-shape.ts";
import { withoutCredentials } from "../command/without-credentials.ts";
import { boundStatements } from "../db/bounded.ts";
import type { Tx } from "../db/connect.ts";
import { lockInbox } from "../db/locks.ts";
import { isOfTheDatabase } from "../db/passing-failure.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { OfNoRow } from "../quarantine/in-halves.ts";
import { letGoUnlocked } from "../quarantine/quarantine.ts";
import { isGone, type Refused } from "../refusal.ts";
import { type InboxRefusal, refuseCommands, removeCommands, stillThere } from "./inbox-rows.ts";
import { overtakenByQueue, tellQueue } from "./queue-order.ts";
import type { ReadRow } from "./read-inbox.ts";

export type UnderstoodRow = Extract<ReadRow, { operation: Operation }>;
export type RefusedRow = Extract<ReadRow, { refusal: Refused }>;

/**
 * Applies commands in one transaction, in which they also leave the inbox. `tried`: they may be in
 * quarantine, and leave it too.
 */
export async function applyTogether(
  deps: EditDeps,
  commands: readonly UnderstoodRow[],
  tried: boolean,
): Promise<{ applied: number; refused: number }> {
  const ids = commands.map(({ row }) => row.id);
  const results = await applyOperations(
    deps,
    commands.map(({ operation }) => operation),
    {
      before: async (tx) => {
        await lockForAll(tx);
        await boundStatements(tx);
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
        if (tried) await letGoUnlocked(tx, "inbox", ids);
      },
    },
  );
  const refused = refusalsAmong(commands, results).length;
  const passedOver = results.filter(({ change }) => change === "passed-over").length;
  return { refused, applied: commands.length - refused - passedOver };
}

/** All commands need this lock, so if it is not granted, none of them is at fault. */
async function lockForAll(tx: Tx): Promise<void> {
  try {
    await lockInbox(tx);
  } catch (error) {
    throw isOfTheDatabase(error) ? error : new OfNoRow(error);
  }
}

/** Returns how many of the commands still existed. */
export function refuseTogether(
  { sql }: Pick<EditDeps, "sql">,
  refused: readonly RefusedRow[],
  tried: boolean,
): Promise<number> {
  return sql.begin(async (tx: Tx) => {
    const taken = await refuseCommands(
      tx,
      refused.map((read) => refusalOf(read, read.refusal)),
    );
    if (tried)
      await letGoUnlocked(
        tx,
        "inbox",
        refused.map(({ row }) => row.id),
      );
    return taken;
  });
}

function refusalsAmong(commands: readonly UnderstoodRow[], results: readonly Applied[]): InboxRefusal[] {
  return commands.flatMap((command, index) => {
    const result = results[index];
    if (result?.change !== "refused" || foundNothing(command.operation, result)) return [];
    const { message, faults } = result.refusal;
    return [refusalOf(command, { message, faults: belowVerb(command.verb, faults) })];
  });
}

/**
 * Deleting a missing schedule counts as done: the schedule may have ended by itself meanwhile. One that
 * has moved runs at its destination, so its delete is refused.
 */
function foundNothing({ kind, ifMatch }: Operation, result: Applied | undefined): boolean {
  if (kind !== "delete" || ifMatch !== undefined) return false;
  return result?.change === "refused" && isGone(result.refusal);
}

function refusalOf(
  { row: { id, key }, command }: ReadRow,
  { message, faults }: Pick<Refused, "message" | "faults">,
): InboxRefusal {
  return { id, key, command: withoutCredentials(command), problem: message, faults };
}
