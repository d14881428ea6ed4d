package carillon.peers;

import java.time.Instant;
import java.util.function.IntConsumer;

/** What a contender does, whatever its tables. The bench says when, over standard input. */
interface Contender {
  /** Makes its tables in an empty database. */
  void install(Database database) throws Exception;

  /** Stores jobs 0 to count − 1, in bulk, in the quickest way that it documents; due at the instant. */
  void store(Database database, int count, Instant at) throws Exception;

  /** Begins to work; each job tells its number. Returns when work can come. */
  Working work(Database database, IntConsumer ran) throws Exception;

  /** A query that has a row as long as anything is stored that is not stored as done. */
  String left();

  interface Working {
    void stop() throws Exception;
  }
}
