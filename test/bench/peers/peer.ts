import type { BenchStack } from "../bench-stack.ts";
import type { Moment, Work } from "./measure.ts";
import type { Command } from "./program.ts";

/**
 * The place in which a peer is prepared, and the resources that it shares with the others of one
 * run.
 */
export interface Place {
  /** Outside of the repository, and kept for the next run. */
  directory: string;
  stack: BenchStack;
  /** Disposed when the bench ends. */
  during: AsyncDisposableStack;
}

/**
 * How a peer is started. Without a `url` it works on a database of its own in the bench's Postgres.
 */
export interface Ready {
  command: Command;
  url?: string;
}

export interface Peer {
  name: string;
  /** The version that the manifest of the peer names. */
  version: string;
  /** The settings of the peer in this bench, at most a sentence each; shown on the page. */
  settings: string;
  /** The guarantee of the peer for a job, and what happens to a done job; shown on the page. */
  promise: string;
  /**
   * The share of the bench's number of jobs that it runs; other peers would wait minutes for all of
   * them.
   */
  share?: number;
  /** The works in which the peer takes part. Default: both. */
  works?: readonly Work[];
  words?: Readonly<Partial<Record<Moment, string>>>;
  /** The reason why it cannot run here, or null. */
  available(): Promise<string | null>;
  prepare(place: Place): Promise<Ready>;
}
