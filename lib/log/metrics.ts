/** Every metric of Carillon, with its unit as CloudWatch spells it. What each function tells has its own line. */
export const metricUnits = {
  // The tick: what was written since the last one, whoever wrote it.
  Fired: "Count",
  Missed: "Count",
  Skipped: "Count",
  Cancelled: "Count",
  PulseSecondsPassed: "Count",
  // The tick: what stands.
  DueJobs: "Count",
  OldestDueMs: "Milliseconds",
  OpenParcels: "Count",
  Backlog: "Count",
  DeadStanding: "Count",
  Quarantined: "Count",
  PlanLagMs: "Milliseconds",
  OldestTransactionMs: "Milliseconds",
  // Where days go into an archive.
  ArchiveLagMs: "Milliseconds",
  TickMs: "Milliseconds",
  // Workers, by queue.
  Claimed: "Count",
  Succeeded: "Count",
  Failed: "Count",
  Dead: "Count",
  LatenessMs: "Milliseconds",
  Pulses: "Count",
  PulsesFailed: "Count",
  // By the tick as well, which adds up what no worker can fail to tell.
  PulsesLost: "Count",
  PulseLatenessMs: "Milliseconds",
  // The worker of the slow queue, each time the canary arrives.
  CanaryMs: "Milliseconds",
  // The function that takes commands from the ingest queue.
  IngestedCommands: "Count",
  RefusedCommands: "Count",
} as const;

export type MetricName = keyof typeof metricUnits;

/** One value, or those of many jobs. */
export type Measured = Readonly<Partial<Record<MetricName, number | readonly number[]>>>;

export interface Metrics {
  /** One line; of all that is measured by one invocation together. */
  write(measured: Measured, dimensions?: MetricDimensions): void;
}

/** What a metric is told apart by, beside the function. Each further value is a metric that costs. */
export interface MetricDimensions {
  queue?: "fast" | "slow";
}

export const noMetrics: Metrics = { write: () => {} };
