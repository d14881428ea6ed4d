import type { Label } from "../schedule/shared-holds.ts";

/** Rolls back what was done: somebody was quicker, or labels are needed that nobody has locked. */
export class BeginAnew extends Error {
  override readonly name = "BeginAnew";
  readonly labels: readonly Label[];

  constructor(labels: readonly Label[] = []) {
    super("The operations begin anew.");
    this.labels = labels;
  }
}
