import type { Operation } from "../batch/operation.ts";
import type { Acceptance } from "../command/acceptance.ts";
import { readCommands } from "../command/apply-commands.ts";
import { refuseInexactNumbers } from "../command/exact-numbers.ts";
import { refuseDeep } from "../command/json-depth.ts";
import { Refusal, type Refused } from "../refusal.ts";
import { type Caller, reachOf } from "../schedule/shape/caller.ts";
import type { Json } from "../schedule/shape/json.ts";
import type { InboxRow } from "./inbox-rows.ts";

/**
 * A command of the inbox after it was read, or the reason why it could not be read. `command` exists
 * in either case.
 */
export type ReadRow = { row: InboxRow; command: Json } & (
  | { operation: Operation; verb: string }
  | { refusal: Refused }
);

/**
 * Reads a command with the role that wrote it as its caller, which reaches the keys that it reached
 * at the call. Its relative times count from the call.
 */
export function readInboxRow(row: InboxRow, acceptance: Acceptance): ReadRow {
  const command: Json = JSON.parse(row.command);
  const tooDeep = refusedBy(() => refuseDeep(row.command, "command"));
  // Too deep to be walked, so only the key is kept.
  if (tooDeep !== null) return { row, command: { key: row.key }, refusal: tooDeep };
  const inexact = refusedBy(() => refuseInexactNumbers(row.command));
  if (inexact !== null) return { row, command, refusal: inexact };
  return { row, command, ...readInput(row, command, acceptance) };
}

function refusedBy(check: () => void): Refused | null {
  try {
    check();
    return null;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { kind, message, faults } = error;
    return { kind, message, faults };
  }
}

function readInput(
  { id, caller: role, reach, at }: InboxRow,
  input: Json,
  acceptance: Acceptance,
): { operation: Operation; verb: string } | { refusal: Refused } {
  const origin = { via: "sql", request: id, at: at.toISOString() } as const;
  const caller: Caller = { name: `sql:${role}`, reach: reachOf(reach), origin };
  const [read] = readCommands([{ input, caller, countFrom: at }], acceptance);
  if (read === undefined) throw new Error(`Command ${id} of the inbox was not read.`);
  if ("refusal" in read) return { refusal: read.refusal };
  return read;
}
