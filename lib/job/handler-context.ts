import type { ScheduleBody } from "../client/schedule.ts";
import type { HandlerLog } from "../log/log.ts";
import type { HandlerSql } from "./handler-sql.ts";
import type { JobKind } from "./job-id.ts";

/** The facts about its job that a handler gets: the same as for every other target. */
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
  /** The number of checks before this one, each of which requested the next by `again`. */
  checks: number;
  payload: Payload;
}

/** The context of every handler. */
export interface HandlerContext {
  /**
   * Aborts when the attempt's time is up, the job is cancelled or its lease is lost. The worker
   * does not wait for a handler that continues after that.
   */
  signal: AbortSignal;
  /** Adds the job to each line. The handler chooses the events, and no line can fail the job. */
  log: HandlerLog;
}

/** The context of a handler without `transaction: false`. */
export interface InTransaction {
  /**
   * A transaction that begins with its first statement and commits together with the job's success:
   * its writes happen exactly once. It rolls back when the handler fails. Postgres ends a
   * transaction that idles for ten seconds, so do other slow work before the first statement.
   */
  sql: HandlerSql;
  /**
   * Edits of schedules in the same transaction: they take effect when the job succeeds, and not at
   * all when it fails.
   */
  schedule: HandlerSchedules;
}

export interface HandlerSchedules {
  /**
   * Creates or replaces a schedule, as `PUT /v1/schedules/{key}` does. Throws at once for a body
   * that could not be stored.
   */
  put(this: HandlerSchedules, key: string, body: ScheduleInput): void;
  /** Deletes a schedule, also the job's own. It does nothing if the schedule does not exist. */
  cancel(this: HandlerSchedules, key: string): void;
}

/** A schedule's body as a caller writes it: `when`, `target`, and any other field. */
export interface ScheduleInput extends Omit<ScheduleBody, "payload"> {
  /** Any value that JSON can hold. */
  payload?: unknown;
}

export interface JobContext<Payload> extends HandlerContext {
  job: HandlerJob<Payload>;
}

export interface GroupContext extends HandlerContext {
  /** Null if the only job belongs to no group. */
  group: string | null;
}
