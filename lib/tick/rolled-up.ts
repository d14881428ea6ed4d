import type { Tx } from "../db/connect.ts";

/** The counts of the rows that a tick rolled up. */
export interface RolledUp {
  fired: number;
  skipped: number;
  missed: number;
  cancelled: number;
  /** Pulses that were given up. */
  pulsesLost: number;
  /**
   * Seconds in which pulses of a shard were passed over, one for each shard. How many pulses that
   * were is not counted.
   */
  pulseSecondsPassed: number;
}

export const nothingRolledUp: RolledUp = {
  fired: 0,
  skipped: 0,
  missed: 0,
  cancelled: 0,
  pulsesLost: 0,
  pulseSecondsPassed: 0,
};

/** The columns that the database's functions return. */
export const rolledUp = (tx: Tx) => tx`
  fired::float8, skipped::float8, missed::float8, cancelled::float8, pulses_lost::float8 as "pulsesLost",
  pulse_seconds_passed::float8 as "pulseSecondsPassed"`;

export function addTo(sum: RolledUp, more: RolledUp): void {
  sum.fired += more.fired;
  sum.skipped += more.skipped;
  sum.missed += more.missed;
  sum.cancelled += more.cancelled;
  sum.pulsesLost += more.pulsesLost;
  sum.pulseSecondsPassed += more.pulseSecondsPassed;
}
