import type { Label } from "../schedule/shared-holds.ts";

/**
 * Rolls the transaction back, to begin it again: another transaction was faster, or labels are
 * needed that are not locked.
 */
export class RestartTransaction extends Error {
  override readonly name = "RestartTransaction";
  readonly labels: readonly Label[];

  constructor(labels: readonly Label[] = []) {
    super("The transaction must begin again.");
    this.labels = labels;
  }
}
