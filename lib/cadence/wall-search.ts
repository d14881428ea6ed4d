/**
 * Finds the wall times of a cadence, without any time zone. Both ends are inclusive, results are wall instants (see
 * civil.ts), null says that there is none.
 */
export interface WallSearch {
  atOrAfter(wall: number): number | null;
  atOrBefore(wall: number): number | null;
}
