import type * as z from "zod";
import type { Tx } from "../db/connect.ts";
import type { HandlerLog } from "../log/log.ts";
import type { scheduleShape } from "../schedule/shape/schedule-shape.ts";
import type { JobKind } from "./job-id.ts";

/** What a handler is told of its job: the same facts as every other target. */
export interface HandlerJob<Payload> {
  id: string;
  kind: JobKind;
  n: number;
  key: string;
  scheduleId: string;
  /** The version of the schedule that runs. */
  version: number;
  group: string | null;
  occurrence: Date;
  dueAt: Date;
  /** 1 at the first try. */
  attempt: number;
  /** How many checks came before this one, where each asked for the next by `again`. */
  checks: number;
  payload: Payload;
}

/** What every handler has. */
export interface HandlerContext {
  /**
   * Aborts when the attempt's time is up, the job is cancelled or its lease is lost; a handler that goes on anyway is no longer
   * waited for.
   */
  signal: AbortSignal;
  /** Names the job in each line. The events are the handler's own to choose, and no line fails the job. */
  log: HandlerLog;
}

/** What a handler has unless it says `transaction: false`. */
export interface InTransaction {
  /**
   * A transaction that begins with its first statement and commits together with the job's success: what it writes is there exactly
   * once. It rolls back when the handler fails. Postgres ends one that waits ten seconds for something else than the database:
   * do such work before the first statement.
   */
  sql: Tx;
  /** Edits of schedules in the same transaction: they take effect when the job succeeds, and not at all when it fails. */
  schedule: HandlerSchedules;
}

export interface HandlerSchedules {
  /** Creates or replaces a schedule, as `PUT /v1/schedules/{key}` does. Throws at once for a body that could not be stored. */
  put(this: HandlerSchedules, key: string, body: ScheduleInput): void;
  /** Deletes a schedule, this job's own too; none is needed to be there. */
  cancel(this: HandlerSchedules, key: string): void;
}

/** A schedule's body as a caller writes it: `when` and `target`, and whatever else it wants. */
export type ScheduleInput = z.input<typeof scheduleShape>;

export interface JobContext<Payload> extends HandlerContext {
  job: HandlerJob<Payload>;
}

export interface GroupContext extends HandlerContext {
  /** Null where the one job there is belongs to no group. */
  group: string | null;
}
