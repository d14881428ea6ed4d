import type { Clock } from "../clock.ts";
import { textOf } from "../log/text-of.ts";
import type { ClaimedJob } from "../parcel/claimed-job.ts";
import type { Ran } from "../parcel/own-times.ts";
import { storablePart } from "../schedule/shape/text.ts";
import type { Places } from "./places.ts";
import type { Stop } from "./stop.ts";

/** Why a job is dead, in the form of the ledger. */
export type DeadReason =
  /** The last attempt that its schedule allows has failed. */
  | "attempts"
  /** Its target said that a retry cannot help. */
  | "gave-up"
  /** The handler does not accept its payload. */
  | "payload"
  /**
   * The job asked for a recheck that its handler's limits do not allow: one too many, one in the
   * past, or one too far ahead.
   */
  | "max-checks"
  | "recheck-past"
  | "recheck-far";

export interface Failure {
  kind: "failed";
  /** The error in one line, with its class in front of its message. */
  error: string;
  errorClass?: string | undefined;
  stack?: string | undefined;
  /** A retry cannot help: the job is dead, for this reason. */
  giveUp: boolean;
  reason?: DeadReason | undefined;
  /**
   * The time of the next attempt, if the target names one. Otherwise the schedule's backoff
   * applies.
   */
  retryAt?: Date | undefined;
  /** The target wants no more jobs of this schedule: holds it with this reason. */
  hold?: string | undefined;
}

export interface Done {
  kind: "done";
}

/** The job did not start. Another worker tries it, and no attempt is counted. */
export interface Back {
  kind: "back";
}

/** The outcome of a message for a queue or a bus. */
export type Sent = Done | Failure | Back;

/** The outcome of one delivery. */
export type Delivery =
  | Done
  /** Succeeded; a recheck is due at this instant. */
  | { kind: "again"; at: Date }
  | Failure
  | Back
  /** It was stopped by a cancel. */
  | { kind: "cancelled" }
  /** Its own transaction has written its result. */
  | { kind: "settled" };

export const done: Done = { kind: "done" };

const errorLengthMax = 2_000;
const stackLengthMax = 8_000;
const classLengthMax = 200;

/** A failure described by Carillon. The text before a colon may be logged. */
export function failed(said: string, giveUp = false): Failure {
  return { kind: "failed", error: storablePart(said, errorLengthMax), giveUp };
}

/**
 * A failure described by the code that threw it. Any value may be thrown, also one that cannot be
 * read.
 */
export function thrown(error: unknown, giveUp = false): Failure {
  try {
    return readThrown(error, giveUp);
  } catch {
    return { ...failed("It threw an error that cannot be read.", giveUp), errorClass: "Error" };
  }
}

function readThrown(error: unknown, giveUp: boolean): Failure {
  if (!(error instanceof Error))
    return { ...failed(textOf(error), giveUp), errorClass: error === null ? "null" : typeof error };
  const name: unknown = error.name;
  const errorClass = storablePart(typeof name === "string" ? name : "Error", classLengthMax);
  const stack: unknown = error.stack;
  return {
    ...failed(`${errorClass}: ${textOf(error.message)}`, giveUp),
    errorClass,
    ...(typeof stack === "string" ? { stack: storablePart(stack, stackLengthMax) } : {}),
  };
}

/** The data and limits of the work around a delivery. */
export interface DeliveryContext {
  parcel: { id: string; fence: number };
  /** How many of the parcel's jobs may be under way at once. */
  places: Places;
  /** Comes when the job is cancelled or its lease is lost; the reason says which. */
  stopOf(job: ClaimedJob): Stop;
  /** The time left in the invocation. A job that may take longer does not start. */
  timeLeftMs(): number;
  /** Receives the times at which the target worked on a job, also of a job that failed. */
  worked?(job: ClaimedJob, ran: Ran): void;
}

/** Does one piece of work, and tells when it began and ended. */
export async function timed<Answer>(
  { now }: Pick<Clock, "now">,
  work: () => Promise<Answer>,
  tell: (ran: Ran) => void,
): Promise<Answer> {
  const from = now().getTime();
  try {
    return await work();
  } finally {
    tell({ from, to: now().getTime() });
  }
}

/** Delivers jobs and returns their outcomes in the same order. */
export type Deliver = (jobs: readonly ClaimedJob[], context: DeliveryContext) => Promise<Delivery[]>;

const requestEntriesMax = 10;
const requestBytesMax = 250_000;

/**
 * Splits entries into requests of at most ten and a quarter of a megabyte, the limits of SQS and
 * EventBridge.
 */
export function requests<Entry extends { bytes: number }>(entries: readonly Entry[]): Entry[][] {
  const batches: Entry[][] = [];
  for (let from = 0; from < entries.length; ) {
    const batch = firstRequest(entries, from);
    batches.push(batch);
    from += batch.length;
  }
  return batches;
}

/** The entries of one request: as many from this position on as it takes. */
export function firstRequest<Entry extends { bytes: number }>(entries: readonly Entry[], from = 0): Entry[] {
  let bytes = 0;
  let to = from;
  for (const entry of entries.slice(from, from + requestEntriesMax)) {
    bytes += entry.bytes;
    if (to > from && bytes > requestBytesMax) break;
    to += 1;
  }
  return entries.slice(from, to);
}

/** Whether the service took the request and did not answer. */
export function isUnanswered(sent: Sent | undefined): sent is Failure {
  return sent?.kind === "failed" && sent.errorClass === "TimeoutError";
}

/** Whether a request takes no further entry. */
export function isFull(batch: readonly unknown[]): boolean {
  return batch.length === requestEntriesMax;
}

export const requestsInFlight = 8;

/** Runs requests a few at a time. */
export async function eachRequest<Entry>(
  batches: readonly Entry[],
  send: (batch: Entry) => Promise<void>,
): Promise<void> {
  const waiting = batches.values();
  const sendWaiting = async () => {
    for (const batch of waiting) await send(batch);
  };
  await Promise.all(Array.from({ length: Math.min(requestsInFlight, batches.length) }, sendWaiting));
}
