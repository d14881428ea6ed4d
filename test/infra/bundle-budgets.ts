/**
 * The largest allowed bundle of each function in bytes, by its construct; a little above the
 * present size. A bundle that exceeds its budget has gained a dependency.
 */
export const bundleBudgets: Readonly<Record<string, number>> = {
  Api: 1_460_000,
  Archive: 540_000,
  FastWorker: 880_000,
  Ingest: 720_000,
  Migration: 474_000,
  Page: 22_200,
  SlowWorker: 880_000,
  StackSchedules: 385_000,
  Tick: 879_000,
  WebhookSender: 361_000,
};
