const steps = 5;

/**
 * The highest number of each colour of a heat map, from light to dark. From the least count to the
 * peak each is the same factor above the one before: counts of minutes may differ by thousands, and
 * with even steps all but the heaviest would look empty. Counts that are close need fewer colours.
 */
export function heatBounds(counts: readonly number[]): number[] {
  const busy = counts.filter((count) => count > 0);
  const peak = busy.reduce((most, count) => Math.max(most, count), 1);
  const least = busy.reduce((some, count) => Math.min(some, count), peak);
  const bounds = Array.from({ length: steps }, (_, step) =>
    Math.min(peak, rounded(least * (peak / least) ** ((step + 1) / steps))),
  );
  return [...new Set(bounds)];
}

/** Up to two digits, so that the legend can be read. */
function rounded(value: number): number {
  const digit = Math.max(1, 10 ** (Math.floor(Math.log10(value) + 1e-9) - 1));
  return Math.ceil(value / digit - 1e-9) * digit;
}

/** The colour of a number: 0 for none, 5 for the darkest. The heaviest is always the darkest. */
export function heatLevel(count: number, bounds: readonly number[]): number {
  if (count === 0) return 0;
  const place = bounds.findIndex((bound) => count <= bound);
  return place === -1 ? steps : place + 1 + steps - bounds.length;
}
