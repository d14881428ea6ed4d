/**
 * The largest allowed bundle of each function in bytes, by its construct; a little above the
 * present size. A bundle that exceeds its budget has gained a dependency.
 */
export const bundleBudgets: Readonly<Record<string, number>> = {
  Api: 1_195_000,
  Archive: 540_000,
  FastWorker: 818_000,
  Ingest: 660_000,
  Migration: 420_000,
  Page: 22_000,
  SlowWorker: 818_000,
  StackSchedules: 385_000,
  Tick: 806_000,
  WebhookSender: 130_000,
};
