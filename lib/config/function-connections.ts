/** How many database connections one environment of each function opens at most. What is deployed is checked against what the database has. */
export const functionConnections = {
  /** A request at a time. */
  api: 1,
  /** One for each of its lanes, and one for what it does beside them. */
  tick: 3,
  /** One that works and one that renews leases. */
  worker: 2,
  /** So many handlers may have their transaction open at once; the others wait for one of these connections. */
  handlers: 2,
  ingest: 2,
  archive: 1,
  migration: 1,
} as const;

/**
 * For how long a function's statement may hear nothing from the database, in milliseconds: longer than its role lets a statement run and RDS Proxy lets it
 * wait for a connection (10 s), so that their own word comes first where they are there.
 */
export const answerMs = { tick: 52_000, others: 22_000 } as const;
