import type { EditDeps } from "./edit-transaction.ts";
import type { Applied, ApplyOptions, Operation } from "./operation.ts";

/**
 * Many edits in one transaction, each as if it were alone and one after the other; the results in the order of the operations.
 */
export async function applyOperations(
  _deps: EditDeps,
  _operations: readonly Operation[],
  _options: ApplyOptions = {},
): Promise<Applied[]> {
  throw new Error("To come.");
}
