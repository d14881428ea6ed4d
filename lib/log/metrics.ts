/**
 * Every metric of Carillon, with its unit as CloudWatch spells it, grouped by the function that
 * writes it.
 */
export const metricUnits = {
  // The tick: rows written since the last tick, by any function.
  Fired: "Count",
  Missed: "Count",
  Skipped: "Count",
  Cancelled: "Count",
  PulseSecondsPassed: "Count",
  // The tick: current state.
  DueJobs: "Count",
  OldestDueMs: "Milliseconds",
  OpenParcels: "Count",
  Backlog: "Count",
  DeadStanding: "Count",
  Quarantined: "Count",
  PlanLagMs: "Milliseconds",
  OldestTransactionMs: "Milliseconds",
  // Only while there are any.
  ForeignLocks: "Count",
  UnfinishedMoves: "Count",
  // Every ten minutes.
  QuotaUsedPercent: "Percent",
  // Only with an archive.
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
  // Also written by the tick, which counts them even when a worker dies.
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
  /** Writes one line, for all values that one invocation measured together. */
  write(measured: Measured, dimensions?: MetricDimensions): void;
}

/**
 * The dimensions of a metric besides the function. Each further value costs as a metric of its own.
 */
export interface MetricDimensions {
  queue?: "fast" | "slow";
}

export const noMetrics: Metrics = { write: () => {} };
