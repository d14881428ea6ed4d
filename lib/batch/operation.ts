import type { Tx } from "../db/connect.ts";
import type { IfMatch } from "../edit/edit-transaction.ts";
import type { PatchAcceptance } from "../edit/schedule-edits.ts";
import type { Refused } from "../refusal.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import type { IfExists } from "./enqueue-job.ts";

/** One edit of one schedule among many. */
export type Operation = {
  key: string;
  caller: Caller;
  ifMatch?: IfMatch | undefined;
  /**
   * Start of a relative `when` such as `in 3h`; now if left out. If the instant has passed when the
   * operation is applied, the job runs at once.
   */
  countFrom?: Date | undefined;
  /**
   * Whether the operation is still meant for the schedule, which may have been edited since it was
   * chosen. If not, the schedule stays unchanged.
   */
  isMeant?: ((current: StoredSchedule, now: Date) => boolean) | undefined;
} & (
  | {
      kind: "put";
      body: ScheduleBody;
      ifNoneMatch?: boolean | undefined;
      /** For a job without a lasting schedule: what to do with an unfinished job of the key. */
      ifExists?: IfExists | undefined;
    }
  | {
      kind: "patch";
      patch: unknown;
      accept?: PatchAcceptance | undefined;
    }
  | { kind: "delete" }
  | { kind: "pause"; reason?: string | undefined; until?: Date | undefined; owner?: string | undefined }
  | { kind: "resume"; owner?: string | undefined }
);

/** Result of an operation. A refused operation has changed nothing. */
export type Applied =
  | {
      change: "created" | "changed" | "unchanged" | "deleted";
      id: string;
      key: string;
      version: number;
      /** The id of the job, if the operation was an enqueue. */
      job?: string;
    }
  /** Excluded by `before`: it must not be applied any more. */
  | { change: "passed-over"; key: string }
  | { change: "refused"; key: string; refusal: Refused };

export interface ApplyOptions {
  /** If one operation is refused, none is applied. */
  allOrNothing?: boolean;
  /**
   * Called first in the transaction, before any lock of a schedule, and again in each new attempt.
   * Returns the indexes of the operations to pass over.
   */
  before?: (tx: Tx) => Promise<ReadonlySet<number>>;
  /** Called last in the transaction. */
  after?: (tx: Tx, applied: readonly Applied[]) => Promise<void>;
}
