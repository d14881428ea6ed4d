import { applyOperations } from "../batch/apply-operations.ts";
import type { Applied, ApplyOptions, Operation } from "../batch/operation.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { eachWithinLimit } from "../job/schema-time.ts";
import { asRefused, Refusal, type Refused } from "../refusal.ts";
import type { Acceptance } from "./acceptance.ts";
import { belowVerb, type Command, keyIn, readCommand } from "./command-shape.ts";

/** A command after it was read, or the reason why it could not be read. */
export type ReadCommand = { operation: Operation; verb: string } | { key: string | null; refusal: Refused };

export function readCommands(commands: readonly Command[], acceptance: Acceptance): ReadCommand[] {
  return eachWithinLimit(commands, (command) => readOrRefuse(command, acceptance));
}

export function readOrRefuse(command: Command, acceptance: Acceptance): ReadCommand {
  try {
    return readCommand(command, acceptance);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { key: keyIn(command.input), refusal: asRefused(error) };
  }
}

/** The result of a command; `key` is null if the key could not be read. */
export type CommandResult = Applied | { change: "refused"; key: string | null; refusal: Refused };

/**
 * Applies the readable commands in one transaction and returns one result for each command, in
 * their order. `before` and `after` of the options see only the readable operations, and count
 * indexes among these.
 */
export async function applyCommands(
  deps: EditDeps,
  read: readonly ReadCommand[],
  options: ApplyOptions = {},
): Promise<CommandResult[]> {
  const operations = read.flatMap((each) => ("operation" in each ? [each.operation] : []));
  const impossible = options.allOrNothing === true && operations.length < read.length;
  const applied = impossible ? [] : await applyOperations(deps, operations, options);
  let next = 0;
  return read.map((each) => {
    if ("refusal" in each) return { change: "refused", ...each };
    const result = applied[next];
    next += 1;
    if (result === undefined) return { change: "refused", key: each.operation.key, refusal: notDone };
    return result.change === "refused"
      ? { ...result, refusal: { ...result.refusal, faults: belowVerb(each.verb, result.refusal.faults) } }
      : result;
  });
}

/** The result of the other operations when one operation of an all-or-nothing batch is refused. */
export const notDone: Refused = {
  kind: "conflict",
  message: "It was not done: another operation of the same call was refused.",
  faults: [],
};
