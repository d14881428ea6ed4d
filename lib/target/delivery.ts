import { textOf } from "../log/text-of.ts";
import type { ClaimedJob } from "../parcel/claimed-job.ts";
import { storablePart } from "../schedule/shape/text.ts";
import type { Places } from "./places.ts";
import type { Stop } from "./stop.ts";

/** Why a job is dead; each is told in the ledger as it stands here. */
export type DeadReason =
  /** The last attempt that its schedule allows has failed. */
  | "attempts"
  /** Its target said that trying again cannot help. */
  | "gave-up"
  /** Its payload is not what its handler takes. */
  | "payload"
  /** It asked to be checked again more often, earlier or later than its handler allows. */
  | "max-checks"
  | "recheck-past"
  | "recheck-far";

export interface Failure {
  kind: "failed";
  /** What went wrong in one line, the error's class ahead of its message. */
  error: string;
  errorClass?: string | undefined;
  stack?: string | undefined;
  /** Trying again cannot mend it: the job is dead, for this reason. */
  giveUp: boolean;
  reason?: DeadReason | undefined;
  /** When to try again, where the target says so; the schedule's backoff otherwise. */
  retryAt?: Date | undefined;
  /** The target wants no more of this schedule's jobs: a hold with this reason. */
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

/** How one delivery ended. */
export type Delivery =
  | Done
  /** Done for now: check again at this instant. */
  | { kind: "again"; at: Date }
  | Failure
  | Back
  /** It was told to stop, and did. */
  | { kind: "cancelled" }
  /** Its own transaction has written down how it ended. */
  | { kind: "settled" };

export const done: Done = { kind: "done" };

const errorLengthMax = 2_000;
const stackLengthMax = 8_000;
const classLengthMax = 200;

/** A failure in words of Carillon's own, of which those before a colon may be logged. */
export function failed(said: string, giveUp = false): Failure {
  return { kind: "failed", error: storablePart(said, errorLengthMax), giveUp };
}

/** A failure in the words of the code that threw it. Anything may be thrown: an error that cannot be read, or no error at all. */
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

/** What a delivery may know of the work around it. */
export interface DeliveryContext {
  parcel: { id: string; fence: number };
  /** At most so many of the parcel's jobs may be under way at once. */
  places: Places;
  /** Comes when the job is cancelled or its lease is lost; the reason says which. */
  stopOf(job: ClaimedJob): Stop;
  /** With less time left than a job may take, it does not start. */
  timeLeftMs(): number;
}

/** Delivers jobs, and says of each how it went, in the same order. */
export type Deliver = (jobs: readonly ClaimedJob[], context: DeliveryContext) => Promise<Delivery[]>;

const requestEntriesMax = 10;
const requestBytesMax = 250_000;

/** Splits entries into requests of at most ten and a quarter of a megabyte, as SQS and EventBridge take them. */
export function requests<Entry extends { bytes: number }>(entries: readonly Entry[]): Entry[][] {
  const batches: Entry[][] = [];
  for (let from = 0; from < entries.length; ) {
    const batch = firstRequest(entries, from);
    batches.push(batch);
    from += batch.length;
  }
  return batches;
}

/** As many entries from this place on as one request takes. */
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

/** The service took the request and did not answer. */
export function isUnanswered(sent: Sent | undefined): sent is Failure {
  return sent?.kind === "failed" && sent.errorClass === "TimeoutError";
}

/** Whether a request takes no more, were there any. */
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
  const lane = async () => {
    for (const batch of waiting) await send(batch);
  };
  await Promise.all(Array.from({ length: Math.min(requestsInFlight, batches.length) }, lane));
}
