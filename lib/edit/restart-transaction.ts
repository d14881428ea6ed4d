import type { Label } from "../schedule/shared-holds.ts";

/** Rolls back what was done: somebody was quicker, or labels are needed that nobody has locked. */
export class RestartTransaction extends Error {
  override readonly name = "RestartTransaction";
  readonly labels: readonly Label[];

  constructor(labels: readonly Label[] = []) {
    super("The operations begin anew.");
    this.labels = labels;
  }
}
