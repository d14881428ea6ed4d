import type { Cadence } from "../cadence/cadence-kinds.ts";
import type { Lookups } from "../edit/lookups.ts";
import { type Prepared, prepareSchedule } from "../edit/make-schedules.ts";
import { RestartTransaction } from "../edit/restart-transaction.ts";
import { onceOf } from "../history/planned-job.ts";
import { jobId } from "../job/job-id.ts";
import { shardOf, stateOf } from "../plan/shard.ts";
import { asRefused, Refusal } from "../refusal.ts";
import type { ManyLocked } from "./lock-many.ts";
import type { Applied, Operation } from "./operation.ts";

/** An operation on a key that is free: it makes the schedule, or is refused. */
export type MissingDecided =
  | { operation: Operation; make: Prepared }
  | { operation: Operation; applied: Applied };

export async function decideMissing(
  operation: Operation,
  { newIds, states }: Pick<ManyLocked, "newIds" | "states">,
  known: Lookups,
): Promise<MissingDecided> {
  const { key, ifMatch } = operation;
  try {
    if (operation.kind !== "put") throw await known.missingSchedule(key);
    if (ifMatch !== undefined)
      throw new Refusal("precondition", `There is no schedule ${key} that could match.`);
    const id = newIds.get(operation);
    // The schedule existed when the ids were reserved, so this put has no id. The next attempt
    // reserves one.
    if (id === undefined) throw new RestartTransaction();
    return {
      operation,
      make: await prepareSchedule(known, stateOf(states, shardOf(id)), { ...operation, id }),
    };
  } catch (error) {
    return { operation, applied: refusedBy(error, key) };
  }
}

/** The result of a refused operation. Any other error is thrown. */
export function refusedBy(error: unknown, key: string): Applied {
  if (!(error instanceof Refusal)) throw error;
  return { change: "refused", key, refusal: asRefused(error) };
}

export function appliedToMissing(decided: MissingDecided): Applied {
  if ("applied" in decided) return decided.applied;
  const { params, spec } = decided.make;
  const { id, key } = params;
  return { change: "created", id, key, version: 1, ...jobAsked(decided.operation, id, spec.cadence) };
}

/** The job of an enqueue; empty for other operations. */
export function jobAsked(operation: Operation, scheduleId: string, cadence: Cadence): { job?: string } {
  const at = operation.kind === "put" && operation.ifExists !== undefined ? onceOf(cadence) : null;
  if (at === null) return {};
  return { job: jobId({ scheduleId, occurrence: new Date(at), kind: "cadence", n: 0 }) };
}
