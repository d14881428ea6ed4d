/**
 * The largest number of database connections of one environment of each function. A deployment
 * checks their sum against the limit of the database.
 */
export const functionConnections = {
  /** For one request at a time. */
  api: 1,
  /** One for each of the two shards that the tick fires at a time, and one for its other work. */
  tick: 3,
  /** One for work, and one that renews leases. */
  worker: 2,
  /**
   * The number of handlers whose transactions may be open at once; further ones wait for one of
   * these connections.
   */
  handlers: 2,
  ingest: 2,
  archive: 1,
  migration: 1,
} as const;

/**
 * The longest silence of the database that a statement of a function accepts, in milliseconds. It
 * is longer than the statement timeout of the role, and than the 10 s for which RDS Proxy lets a
 * statement wait for a connection. So the database or the proxy reports its own error first, if it
 * still can.
 */
export const answerMs = { tick: 52_000, others: 22_000 } as const;

/**
 * The longest time of a transaction, in milliseconds: a chain of statements may take longer than the
 * limit of each. Until its end a transaction holds locks and keeps dead rows. A tick's statement may
 * take 40 s, so one that waited for a lock before still ends. A worker's claims and settles take
 * milliseconds, and a transaction of a thousand commands on one key takes 20 s at worst. The
 * transactions of handlers end with their jobs, and those of the API with their requests.
 */
export const transactionMs = { tick: 48_000, worker: 30_000, ingest: 30_000 } as const;
