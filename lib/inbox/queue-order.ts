import type { Operation } from "../batch/operation.ts";
import type { Tx } from "../db/connect.ts";
import { isLate, leaveTombstones, readMarks } from "../ingest/marks.ts";
import { stampOf } from "../ingest/stamp.ts";
import type { InboxRow } from "./inbox-rows.ts";

/** A command of the inbox, ordered like the queue's commands: by the time of its call. */
interface Called {
  row: Pick<InboxRow, "id" | "at">;
  operation: Pick<Operation, "key" | "kind">;
}

function stampOfCall({ row: { id, at }, operation: { kind } }: Called): string {
  return stampOf({ at, place: 0, kind, id: `sql:${id}` });
}

/**
 * The indexes of commands that the queue has overtaken by a later put or delete of the same key.
 * Requires the inbox lock.
 */
export async function overtakenByQueue(tx: Tx, commands: readonly Called[]): Promise<Set<number>> {
  const markOf = await readMarks(tx, [...new Set(commands.map(({ operation: { key } }) => key))]);
  const late = commands.flatMap((command, index) => {
    const { key, kind } = command.operation;
    return isLate(kind, stampOfCall(command), markOf(key)) ? [index] : [];
  });
  return new Set(late);
}

/**
 * Records these deletes for the queue, so that an older put of the queue that arrives later makes
 * no schedule.
 */
export async function tellQueue(tx: Tx, deletes: readonly Called[]): Promise<void> {
  const newest = new Map<string, string>();
  for (const command of deletes) {
    const { key } = command.operation;
    const stamp = stampOfCall(command);
    if (stamp > (newest.get(key) ?? "")) newest.set(key, stamp);
  }
  await leaveTombstones(tx, newest);
}
