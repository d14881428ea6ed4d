/** How many jobs, and occurrences that were passed over, ended in each way. */
export interface Endings {
  succeeded: number;
  /** Failed attempts. */
  failed: number;
  dead: number;
  cancelled: number;
  skipped: number;
  missed: number;
}

/** Counts of the outcomes of jobs, and of occurrences that were passed over. */
export interface Outcomes extends Endings {
  made: number;
  /** Jobs that are not settled. */
  open: number;
  pulsesTaken: number;
  pulsesLost: number;
  /** Jobs by their bucket of lateness. */
  late: Map<number, number>;
}

export const outcomeCounts = [
  "made",
  "succeeded",
  "failed",
  "dead",
  "cancelled",
  "skipped",
  "missed",
  "open",
  "pulsesTaken",
  "pulsesLost",
] as const satisfies readonly (keyof Outcomes)[];

export function noOutcomes(): Outcomes {
  return {
    made: 0,
    succeeded: 0,
    failed: 0,
    dead: 0,
    cancelled: 0,
    skipped: 0,
    missed: 0,
    open: 0,
    pulsesTaken: 0,
    pulsesLost: 0,
    late: new Map(),
  };
}

/** Outcomes by the start of their step. */
export type OutcomesByStep = Map<number, Outcomes>;

export function outcomesAt(steps: OutcomesByStep, at: number): Outcomes {
  const found = steps.get(at) ?? noOutcomes();
  steps.set(at, found);
  return found;
}

export function addOutcomes(to: Outcomes, { late, ...counts }: Partial<Outcomes>): void {
  for (const name of outcomeCounts) to[name] += counts[name] ?? 0;
  for (const [bucket, jobs] of late ?? []) to.late.set(bucket, (to.late.get(bucket) ?? 0) + jobs);
}
