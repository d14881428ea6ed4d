/**
 * Limits that the deployed functions and the local stack share: a job that fits into one fits into
 * the other.
 */
export const functionTimeoutSeconds = {
  /** API Gateway gives up after 30. */
  api: 29,
  /** Ends before the next tick starts, so that ticks that hang do not pile up. */
  tick: 55,
  fastWorker: 60,
  /** A handler may take ten minutes; the rest is for claiming and settling. */
  slowWorker: 660,
  /** Messages that are left then stay on the queue and are delivered again. */
  ingest: 60,
  /** A part takes seconds, and an unfinished day continues in the next hour. */
  archive: 900,
  /** Longer than any attempt: the limit of a webhook is the `timeout` of its schedule. */
  webhook: 610,
  /** It answers from memory. */
  page: 5,
  /** Several tries of a request to the API, which may start cold or wait for a database that starts. */
  stack: 240,
} as const;

/**
 * Functions that events of their own lead back to: a worker sends retries and next turns to its own
 * queue, each attempt of a job reaches the sender again, and a target may send commands that plan
 * its own next job. Lambda ends a chain at the seventeenth invocation of one function, unless the
 * function allows it.
 */
export const mayComeBack: ReadonlySet<keyof typeof functionTimeoutSeconds> = new Set([
  "fastWorker",
  "slowWorker",
  "webhook",
  "ingest",
] as const);

/**
 * The most ticks of one minute. It is the number of shards, because each tick needs at least one.
 */
export const ticksMax = 16;

/** The number of days for which jobs are kept. */
export const jobRetention = { min: 1, max: 3_650, byDefault: 30 } as const;

/**
 * The least number of days for which the audit is kept; 0 is for ever. The last thirty days are
 * kept with any setting.
 */
export const auditRetention = { min: 0, least: 30, max: 36_500, byDefault: 365 } as const;

/** The longest interval of the canary. */
export const canaryMinutesMax = 60;

/**
 * Messages per invocation of a worker. A handler may take long, so it gets one: no other message
 * waits for it.
 */
export const workerBatchSize = { fast: 10, slow: 1 } as const;

/** How many commands are applied together, and how long the queue waits for more of them. */
export const ingestBatch = { messages: 1_000, windowSeconds: 1 } as const;

/**
 * The queue has the only copy of a message with commands. While the database is away, the message
 * becomes visible and is received again, for ten hours. A message that makes the function fail each
 * time is set aside after that.
 */
export const ingestReceivesMax = 100;

/** The longest retention of SQS. */
export const ingestRetentionDays = 14;

/**
 * The number of slow workers that one target may have at once: one that hangs leaves workers for
 * the others.
 */
export function targetWindow(slowConcurrency: number): number {
  return Math.max(1, Math.floor(slowConcurrency / 2));
}

/**
 * How long a received message is hidden, in timeouts of the function that receives it. The number
 * is AWS's own rule for event sources: with less, a message comes back while its first batch is
 * still being retried.
 */
export const visibilityInTimeouts = 6;

/**
 * How often a message is received before it moves to the dead-letter queue. Throttled polls count
 * as well. The attempts of a job do not: they are counted in the database.
 */
export const receivesMax = 10;
