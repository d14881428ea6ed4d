/**
 * The largest allowed bundle of each function in bytes, by its construct; a little above the
 * present size. A bundle that exceeds its budget has gained a dependency.
 */
export const bundleBudgets: Readonly<Record<string, number>> = {
  Api: 1_470_000,
  Archive: 540_000,
  FastWorker: 885_000,
  Ingest: 726_000,
  Migration: 474_000,
  Page: 22_200,
  SlowWorker: 885_000,
  StackSchedules: 385_000,
  Tick: 890_000,
  WebhookSender: 361_000,
};
