import type { BenchStack } from "../bench-stack.ts";
import type { Moment, Work } from "./measure.ts";
import type { Command } from "./program.ts";

/** Where a peer is made ready, and what it shares with the others of one run. */
export interface Place {
  /** Outside of the repository, and kept for the next time. */
  directory: string;
  stack: BenchStack;
  /** Ends with the bench. */
  during: AsyncDisposableStack;
}

/** How it is started; without a `url` it works on a database of its own in the bench's Postgres. */
export interface Ready {
  command: Command;
  url?: string;
}

export interface Peer {
  name: string;
  /** As its manifest says. */
  version: string;
  /** Its settings here, one sentence each or less; stands in the page. */
  settings: string;
  /** What it promises of a job, and what becomes of one that is done; stands in the page. */
  promise: string;
  /** Of the bench's number of jobs it is given this share: others would wait minutes for it. */
  share?: number;
  /** Both, where nothing is said. */
  works?: readonly Work[];
  words?: Readonly<Partial<Record<Moment, string>>>;
  /** Why it cannot run here, or null. */
  available(): Promise<string | null>;
  prepare(place: Place): Promise<Ready>;
}
