/**
 * The largest allowed bundle of each function in bytes, by its construct; a little above the
 * present size. A bundle that exceeds its budget has gained a dependency.
 */
export const bundleBudgets: Readonly<Record<string, number>> = {
  Api: 1_026_000,
  Archive: 540_000,
  FastWorker: 800_000,
  Ingest: 644_000,
  Migration: 420_000,
  SlowWorker: 800_000,
  Tick: 787_000,
  WebhookSender: 130_000,
};
