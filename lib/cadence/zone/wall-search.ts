/**
 * Finds the wall times of a cadence, without any time zone. Both ends are inclusive, results are
 * wall instants (see civil.ts), and null means none.
 */
export interface WallSearch {
  atOrAfter(wall: number): number | null;
  atOrBefore(wall: number): number | null;
}

/** A search that can also count, by arithmetic. */
export interface CountingSearch extends WallSearch {
  /**
   * The number of wall times in `[from, end)`; if there are more than `max`, any number above it.
   */
  countBetween(from: number, end: number, max: number): number;
}
