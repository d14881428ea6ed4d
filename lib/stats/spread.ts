import type { Minute } from "./unfold-minutes.ts";

export interface Flattened {
  spread: string;
  /** The heaviest minute there would then be. */
  peak: number;
}

const spreads = [
  { spread: "5m", minutes: 5 },
  { spread: "15m", minutes: 15 },
  { spread: "1h", minutes: 60 },
] as const;

/**
 * What becomes of the heaviest minute if all that fires together had a `spread`: each schedule keeps one place within it, so that a
 * minute's fires lie evenly over that minute and those after it. What came before the first minute is not seen: the peak
 * is looked for where all that would reach it is known.
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
