/**
 * Finds the wall times of a cadence, without any time zone. Both ends are inclusive, results are wall instants (see
 * civil.ts), null says that there is none.
 */
export interface WallSearch {
  atOrAfter(wall: number): number | null;
  atOrBefore(wall: number): number | null;
}

/** One that can also count, by arithmetic. */
export interface CountingSearch extends WallSearch {
  /** How many wall times lie in `[from, end)`; where there are more than `max`, any number above it. */
  countBetween(from: number, end: number, max: number): number;
}
