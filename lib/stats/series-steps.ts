/** The lengths of a step of a series. Steps begin at whole multiples of their length in UTC. */
export const stepLengths = { "1m": 60_000, "5m": 300_000, "15m": 900_000, "1h": 3_600_000 } as const;

export type Step = keyof typeof stepLengths;

/** The most time that one page covers: a day of minutes. */
const pageMaxMs = 1_440 * 60_000;

export const stepsMax = pageMaxMs / stepLengths["1m"];

/** Counts by minute are kept this long; the tick deletes older ones. */
export const minutesKeptMs = 2 * 86_400_000;

/** A range of time in milliseconds: from `from` to before `to`, both at the start of a step. */
export interface Range {
  from: number;
  to: number;
}

export const floorTo = (stepMs: number, at: number): number => Math.floor(at / stepMs) * stepMs;

export const ceilTo = (stepMs: number, at: number): number => Math.ceil(at / stepMs) * stepMs;

/** The newest steps of a range that fit on one page. */
export function pageRange({ from, to }: Range, stepMs: number, limit: number): Range {
  const count = Math.min(limit, pageMaxMs / stepMs);
  return { from: Math.max(from, to - count * stepMs), to };
}
