import type { ScheduleBody } from "../schedule/schedule-body.ts";

/** Who asks: the name of the token. */
export interface Caller {
  name: string;
}

export type ScheduleState = "active" | "paused" | "ended";

export interface HoldRead {
  owner: string;
  reason: string | null;
  until: Date | null;
  since: Date;
}

export interface ScheduleRead {
  id: string;
  key: string;
  state: ScheduleState;
  version: number;
  body: ScheduleBody;
  /** The cadence in its normal form. */
  cadence: string;
  nextAt: Date | null;
  holds: HoldRead[];
  checks: number;
  warnings: string[];
  createdAt: Date;
  createdBy: string;
  updatedAt: Date;
  updatedBy: string;
  lastJob?: JobRead | null;
}

export interface AttemptRead {
  attempt: number;
  startedAt: Date;
  finishedAt: Date;
  outcome: string;
  error: string | null;
}

export interface JobRead {
  id: string;
  kind: string;
  key: string;
  scheduleId: string;
  version: number;
  group: string | null;
  occurrence: Date;
  dueAt: Date;
  state: string;
  reason: string | null;
  attempt: number;
  readyAt: Date | null;
  startedAt: Date | null;
  finishedAt: Date | null;
  latenessMs: number | null;
  error: string | null;
  payload?: unknown;
  attempts?: AttemptRead[];
}

export interface EditDone {
  change: "created" | "changed" | "unchanged";
  schedule: ScheduleRead;
}

/** One page of a list, and from where the next one goes on; no `next` means that this was the last. */
export interface Page<Item> {
  items: Item[];
  next?: string;
}

/** The versions of which the schedule must have one; "*" for any, as long as it exists. */
export type IfMatch = readonly number[] | "*";

export interface ScheduleFilter {
  prefix?: string | undefined;
  group?: string | undefined;
  tag?: string | undefined;
  state?: ScheduleState | undefined;
  /** The kind of target. */
  target?: "handler" | "event" | "queue" | "webhook" | "lambda" | undefined;
}

/**
 * What the API does with schedules and jobs. Every one throws a Refusal for what cannot be done as asked, and has then
 * done nothing of it.
 */
export interface Operations {
  putSchedule(wish: {
    key: string;
    body: ScheduleBody;
    caller: Caller;
    ifMatch?: IfMatch | undefined;
    /** Refused with `precondition` where the key exists. */
    ifNoneMatch?: boolean | undefined;
  }): Promise<EditDone>;
  createSchedule(wish: { key?: string | undefined; body: ScheduleBody; caller: Caller }): Promise<EditDone>;
  patchSchedule(wish: {
    key: string;
    patch: unknown;
    caller: Caller;
    ifMatch?: IfMatch | undefined;
  }): Promise<EditDone>;
  deleteSchedule(wish: { key: string; caller: Caller; ifMatch?: IfMatch | undefined }): Promise<void>;
  pauseSchedule(wish: {
    key: string;
    caller: Caller;
    reason?: string | undefined;
    until?: Date | undefined;
    owner?: string | undefined;
    ifMatch?: IfMatch | undefined;
  }): Promise<EditDone>;
  resumeSchedule(wish: {
    key: string;
    caller: Caller;
    owner?: string | undefined;
    ifMatch?: IfMatch | undefined;
  }): Promise<EditDone>;
  readSchedule(key: string): Promise<ScheduleRead | null>;
  /** In the order of keys; `after` is the last key of the page before. */
  listSchedules(
    wish: ScheduleFilter & { after?: string | undefined; limit: number },
  ): Promise<Page<ScheduleRead>>;
  nextOccurrences(wish: { key: string; n: number; from?: number | undefined }): Promise<number[]>;
  /** Newest first; `after` is the id of the last job of the page before. */
  jobsOfSchedule(wish: { key: string; limit: number; after?: string | undefined }): Promise<Page<JobRead>>;
  readJob(id: string): Promise<JobRead | null>;
  /** Throws where the database does not answer. */
  health(): Promise<void>;
}
