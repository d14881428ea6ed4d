import type { Minute } from "./unfold-minutes.ts";

export interface Flattened {
  spread: string;
  /** The heaviest minute with that spread. */
  peak: number;
}

const spreads = [
  { spread: "5m", minutes: 5 },
  { spread: "15m", minutes: 15 },
  { spread: "1h", minutes: 60 },
] as const;

/**
 * Computes the heaviest minute if every cadence that fires for many schedules at once had a
 * `spread`. Each schedule keeps one offset within the spread, so a minute's fires are distributed
 * evenly over that minute and the next ones. Fires before the first minute are unknown, so the
 * first minutes count too few, and the peak is one of the later minutes.
 */
export function flattened(line: readonly Minute[]): Flattened[] {
  return spreads
    .filter(({ minutes }) => minutes < line.length)
    .map(({ spread, minutes }) => ({ spread, peak: peakWith(line, minutes) }));
}

function peakWith(line: readonly Minute[], minutes: number): number {
  let peak = 0;
  let moved = 0;
  for (const [index, { fires, together }] of line.entries()) {
    moved += together - (line[index - minutes]?.together ?? 0);
    peak = Math.max(peak, fires - together + Math.ceil(moved / minutes));
  }
  return peak;
}
