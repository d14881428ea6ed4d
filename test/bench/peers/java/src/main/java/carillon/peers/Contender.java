package carillon.peers;

import java.time.Instant;
import java.util.function.IntConsumer;

/** The operations of a contender, whatever its tables. The bench requests them over standard input. */
interface Contender {
  /** Creates its tables in an empty database. */
  void install(Database database) throws Exception;

  /** Stores jobs 0 to count − 1, in bulk, in the quickest documented way; due at the instant. */
  void store(Database database, int count, Instant at) throws Exception;

  /** Starts working; each job reports its number. Returns when the workers are ready. */
  Working work(Database database, IntConsumer ran) throws Exception;

  /** A query that returns a row while any stored job is not stored as done. */
  String left();

  interface Working {
    void stop() throws Exception;
  }
}
