/** The kinds of request, by what their work in the database costs. */
export type RequestKind = "read" | "count" | "edit" | "bulk";

export interface KindLimits {
  /** The limit of one statement; null for that of the role `carillon_api`, which is 6 s. */
  statementMs: number | null;
  /** The limit of the request as a whole. Its connection is cut then, and the answer is 503. */
  wholeMs: number;
}

export type RequestLimits = Readonly<Record<RequestKind, KindLimits>>;

/**
 * The function lives for 29 s and the gateway waits as long, a cold start included: the longest
 * request leaves 3 s for its answer.
 *
 * The statements of reads and edits have the limit of the role, so that nearly all requests set
 * nothing. It is longer than a wait for a lock (5 s), so that such a wait has its own error. The others
 * ask for 10 s in their transactions: a count reads what its filter names, and the first transaction of a bulk
 * action writes up to 1,000 schedules. What is cut of a bulk action is tried again in halves, for
 * up to 23 s.
 */
export const requestLimits: RequestLimits = {
  read: { statementMs: null, wholeMs: 12_000 },
  count: { statementMs: 10_000, wholeMs: 20_000 },
  edit: { statementMs: null, wholeMs: 15_000 },
  bulk: { statementMs: 10_000, wholeMs: 26_000 },
};
