/** The value that this share of the values is at or below; NaN for no values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** The same of milliseconds, rounded to a tenth; null for no values. */
export function tenths(values: readonly number[], share: number): number | null {
  const value = quantile(values, share);
  return Number.isNaN(value) ? null : Math.round(value * 10) / 10;
}
