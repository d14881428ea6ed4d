import type postgres from "postgres";
import type { Tx } from "./connect.ts";

/**
 * Postgres has instants that no Date holds: infinity, and years long before our era. Read as they
 * are, the next write of such an instant would fail.
 */

type Instant = postgres.PendingQuery<postgres.Row[]>;

/** Later than any instant that a caller can give. */
export const never = (tx: Tx) => tx`timestamptz '10000-01-01 00:00:00+00'`;

/** Earlier than any instant that Carillon writes. */
const always = (tx: Tx) => tx`timestamptz '2000-01-01 00:00:00+00'`;

/** The end of a span: null where the span has no end. */
export const readableEnd = (tx: Tx, end: Instant) => tx`
  case when ${end} < ${never(tx)} then greatest(${end}, ${always(tx)}) end`;

/** The start of a span, and no earlier than `earliest`. */
export const readableStart = (tx: Tx, start: Instant, earliest: Instant = always(tx)) => tx`
  case when ${start} < ${never(tx)} then greatest(${start}, ${earliest}) when ${start} is not null then ${earliest} end`;
