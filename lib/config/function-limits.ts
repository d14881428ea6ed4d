/** What the deployed functions and the local stack share: a job that fits into one fits into the other. */
export const functionTimeoutSeconds = {
  /** API Gateway gives up after 30. */
  api: 29,
  /** Ends before the next tick starts, so that a tick that hangs does not pile up. */
  tick: 55,
  fastWorker: 60,
  /** A handler may take ten minutes; the rest is for claiming and settling. */
  slowWorker: 660,
  /** What is left by then stays on the queue and comes again. */
  ingest: 60,
  /** A part takes seconds, and a day that is not through by then goes on in the next hour. */
  archive: 900,
  /** Longer than any attempt: what bounds a webhook is its schedule's `timeout`. */
  webhook: 610,
} as const;

/** Ticks share the shards, of which there are so many. */
export const ticksMax = 16;

/** How many days of jobs are kept. */
export const jobRetention = { min: 1, max: 3_650, byDefault: 30 } as const;

/** How many days of the audit are kept, at least; 0 is for ever. Of the last thirty nothing goes, whatever is set. */
export const auditRetention = { min: 0, least: 30, max: 36_500, byDefault: 365 } as const;

/** How rarely the canary may be due. */
export const canaryMinutesMax = 60;

/** Messages that one invocation of a worker gets: a handler may take long, and keeps no neighbour waiting. */
export const workerBatchSize = { fast: 10, slow: 1 } as const;

/** Commands are applied together: the queue waits so long for more of them. */
export const ingestBatch = { messages: 1_000, windowSeconds: 1 } as const;

/**
 * A message with commands stands nowhere else: while the database is away it comes again each time it becomes visible, for ten hours. What
 * makes the function fail each time is set aside then.
 */
export const ingestReceivesMax = 100;

/** As long as SQS keeps anything. */
export const ingestRetentionDays = 14;

/** So many of the slow workers one target may have at once: one that hangs leaves the others theirs. */
export function targetWindow(slowConcurrency: number): number {
  return Math.max(1, Math.floor(slowConcurrency / 2));
}

/** AWS's own rule for event sources: with less, a message comes back while its first batch is still being retried. */
export const visibilityInTimeouts = 6;

/** Throttled polls count as receives too. How often a job is tried is counted in the database. */
export const receivesMax = 10;
