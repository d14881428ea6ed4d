import type { Tx } from "../db/connect.ts";
import type { IfMatch } from "../edit/edit-transaction.ts";
import type { PatchAcceptance } from "../edit/schedule-edits.ts";
import type { Refusal } from "../refusal.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import type { IfExists } from "./enqueue-job.ts";

/** One edit of one schedule among many. */
export type Operation = {
  key: string;
  caller: Caller;
  ifMatch?: IfMatch | undefined;
  /** From when a `when` such as `in 3h` counts; from now where it is left out. What is past by then runs at once. */
  countFrom?: Date | undefined;
} & (
  | {
      kind: "put";
      body: ScheduleBody;
      ifNoneMatch?: boolean | undefined;
      /** Of a job without a lasting schedule: what becomes of one that is not done yet. */
      ifExists?: IfExists | undefined;
    }
  | {
      kind: "patch";
      patch: unknown;
      accept?: PatchAcceptance;
    }
  | { kind: "delete" }
  | { kind: "pause"; reason?: string | undefined; until?: Date | undefined; owner?: string | undefined }
  | { kind: "resume"; owner?: string | undefined }
);

/** What became of an operation; one that was refused has changed nothing. */
export type Applied =
  | {
      change: "created" | "changed" | "unchanged" | "deleted";
      id: string;
      key: string;
      version: number;
      /** The id of the job that it stands for, where one was asked for. */
      job?: string;
    }
  /** By `before`: it was not to be done any more. */
  | { change: "passed-over"; key: string }
  | { change: "refused"; key: string; refusal: Refused };

/** As plain data: it is kept with the answer to a request that may be repeated. */
export type Refused = Pick<Refusal, "kind" | "message" | "faults">;

export interface ApplyOptions {
  /** Nothing is done where one is refused. */
  allOrNothing?: boolean;
  /** First of all in the transaction, before any lock of a schedule; tells which operations, by index, are passed over. Begins anew with it. */
  before?: (tx: Tx) => Promise<ReadonlySet<number>>;
  /** Last of all in the transaction. */
  after?: (tx: Tx, applied: readonly Applied[]) => Promise<void>;
}
