import { median } from "../report.ts";

export interface Point {
  x: number;
  y: number;
}

/** The median of the slopes between all pairs of points, which outliers change little. */
export function theilSen(points: readonly Point[]): number {
  const slopes = points.flatMap((a, index) =>
    points.slice(index + 1).flatMap((b) => (b.x === a.x ? [] : [(b.y - a.y) / (b.x - a.x)])),
  );
  return slopes.length === 0 ? 0 : median(slopes);
}

export interface Flatness {
  /** The median of the second half. */
  level: number;
  /** The rise from the beginning of the second half to its end. */
  drift: number;
  /** The allowed rise. */
  allowed: number;
  flat: boolean;
}

/**
 * Whether a measure has stopped rising. Over the second half its trend may rise by a quarter of its
 * level, or by the measure's `noise` where that is more. A falling measure is flat.
 */
export function flatness(points: readonly Point[], noise: number): Flatness {
  const second = points.slice(Math.floor(points.length / 2));
  const [first, last] = [second[0], second.at(-1)];
  if (first === undefined || last === undefined || second.length < halfMin)
    throw new Error(`${points.length} slices are too few for a trend; it needs ${slicesMin}.`);
  const level = median(second.map(({ y }) => y));
  const drift = theilSen(second) * (last.x - first.x);
  const allowed = Math.max(noise, Math.abs(level) * shareAllowed);
  return { level, drift, allowed, flat: drift <= allowed };
}

const halfMin = 5;
export const slicesMin = 2 * halfMin;
const shareAllowed = 0.25;
