/** The rows that one reading of a stream found, in its order. */
export interface Part<Row> {
  /** Each row with its instant, and the place from which the stream continues behind it. */
  rows: { row: Row; at: number; place: string }[];
  /** Where the reading ended; null if the stream has no more rows. */
  last: { at: number; place: string } | null;
}

/** The first rows as a reading that ended behind them; null for fewer rows. */
export function firstOf<Row>(rows: Part<Row>["rows"], limit: number): Part<Row> | null {
  const last = rows[limit - 1];
  return last === undefined ? null : { rows: rows.slice(0, limit), last: { at: last.at, place: last.place } };
}

/** Where a stream continues: `""` at its beginning, null at its end. */
export type StreamPlace = string | null;

/**
 * The first rows of several streams by their instants, and where each stream continues. A row
 * beyond the end of another stream's reading waits for a later page: that stream may have earlier
 * rows there.
 */
export function merged<Row>(
  parts: readonly { part: Part<Row>; from: StreamPlace }[],
  limit: number,
): { rows: Row[]; places: StreamPlace[] } {
  const known = Math.min(...parts.map(({ part: { last } }) => last?.at ?? Number.POSITIVE_INFINITY));
  const all = parts
    .flatMap(({ part }, stream) => part.rows.map((each) => ({ ...each, stream })))
    .filter(({ at }) => at <= known)
    .sort((a, b) => a.at - b.at || a.stream - b.stream)
    .slice(0, limit);
  const places = parts.map(({ part, from }, stream) => {
    const taken = all.filter((each) => each.stream === stream);
    if (taken.length === part.rows.length) return part.last?.place ?? null;
    return taken.at(-1)?.place ?? from;
  });
  return { rows: all.map(({ row }) => row), places };
}
