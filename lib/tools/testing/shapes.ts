import type { JobState } from "../../job/read-job.ts";

/** A job of the ledger, with instants as ISO texts. */
export interface TestJob {
  id: string;
  key: string;
  kind: "cadence" | "manual" | "backfill" | "again";
  /** The instant of the schedule, by which the job is known. */
  occurrence: string;
  /** When it was to run: later than the occurrence with a spread or a slot. */
  dueAt: string;
  /** As the API says it: `running` while its handler takes time, `retrying` before its next attempt. */
  state: JobState;
  /** Why it is skipped, dead or cancelled. */
  reason: string | null;
  /** The number of attempts so far. */
  attempts: number;
  /** The version of the schedule that it ran with. */
  version: number;
  startedAt: string | null;
  finishedAt: string | null;
  error: string | null;
}

/** An attempt at a job, of any target. */
export interface Run {
  jobId: string;
  key: string;
  occurrence: string;
  /** 1 at the first try. */
  attempt: number;
  at: string;
  outcome: "succeeded" | "again" | "failed" | "cancelled" | "given-back" | "worker-died";
  error: string | null;
}

/** The message that every target receives: a CloudEvents envelope. */
export interface Envelope {
  specversion: "1.0";
  type: string;
  source: string;
  /** The job's id: the same for every attempt. */
  id: string;
  /** The key of the schedule. */
  subject: string;
  /** When the job was due. */
  time: string;
  datacontenttype: "application/json";
  data: unknown;
  schedulekey: string;
  scheduleid: string;
  attempt: number;
  generatedat: string;
}

/** Something that would have left Carillon. */
export interface Delivery {
  to: "queue" | "event" | "webhook" | "lambda";
  /** The queue, the bus, the URL or the function. */
  target: string;
  /** When it was sent, on the virtual clock. */
  at: string;
  key: string;
  payload: unknown;
  message: Envelope;
  /** The headers of a webhook, with its signature. */
  headers?: Record<string, string>;
  /** The group of a message for a FIFO queue. */
  messageGroupId?: string;
  /** The type and the source of an event. */
  detailType?: string;
  source?: string;
}

/** An event about a job, as the bus of Carillon's own events gets it. */
export interface Notice {
  detailType: string;
  at: string;
  detail: unknown;
}
