/**
 * The largest allowed bundle of each function in bytes, by its construct; a little above the
 * present size. A bundle that exceeds its budget has gained a dependency.
 */
export const bundleBudgets: Readonly<Record<string, number>> = {
  Api: 1_180_000,
  Archive: 540_000,
  FastWorker: 813_000,
  Ingest: 655_000,
  Migration: 420_000,
  Page: 20_000,
  SlowWorker: 813_000,
  StackSchedules: 385_000,
  Tick: 800_000,
  WebhookSender: 130_000,
};
