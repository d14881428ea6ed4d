import { durationMs } from "../cadence/duration.ts";
import { textOf } from "../log/text-of.ts";

/** An instant, or so long after now by the database's clock. */
export type Wanted = { at: Date } | { afterMs: number };

export interface Done {
  readonly kind: "done";
}

/** Nothing is left to do. Returning nothing says the same. */
export const done: Done = { kind: "done" };

/** Done for now: look again later. Made by `again`. */
export class Again {
  readonly kind = "again";
  readonly wanted: Wanted;

  constructor(wanted: Wanted) {
    this.wanted = wanted;
  }
}

/** This attempt has failed, and says when the next one makes sense. Made by `retryAt` and `retryAfter`. */
export class RetryLater extends Error {
  override readonly name = "RetryLater";
  readonly wanted: Wanted;

  constructor(wanted: Wanted, message: string, cause: unknown) {
    super(message, causedBy(cause));
    this.wanted = wanted;
    this.stack = stackWithCause(this);
  }
}

/** Trying again cannot help: the job is dead. Made by `giveUp`. */
export class GaveUp extends Error {
  override readonly name = "GaveUp";

  constructor(message: string, cause: unknown) {
    super(message, causedBy(cause));
    this.stack = stackWithCause(this);
  }
}

/** `return again("2h")` or `return again(date)`: this check is done, and the next is at that time. */
export function again(when: Date | string): Again {
  return new Again(wanted(when, "again"));
}

export interface Why {
  message?: string;
  cause?: unknown;
}

/** `throw retryAt(date)`: the attempt counts as failed, and the next one starts then instead of by the schedule's backoff. */
export function retryAt(at: Date, { message, cause }: Why = {}): RetryLater {
  return new RetryLater(wanted(at, "retryAt"), message ?? "The handler asked for another attempt.", cause);
}

/** `throw retryAfter("5m")`: as `retryAt`, counted from now. */
export function retryAfter(duration: string, { message, cause }: Why = {}): RetryLater {
  return new RetryLater(
    wanted(duration, "retryAfter"),
    message ?? "The handler asked for another attempt.",
    cause,
  );
}

/** `throw giveUp("The account was closed.", { cause: error })`: no further attempt. */
export function giveUp(message: string, { cause }: Pick<Why, "cause"> = {}): GaveUp {
  return new GaveUp(message, cause);
}

function wanted(when: Date | string, asked: string): Wanted {
  if (when instanceof Date) {
    if (Number.isNaN(when.getTime())) throw new TypeError(`${asked}() was given an invalid date.`);
    return { at: when };
  }
  const afterMs = durationMs(when);
  if (afterMs === null)
    throw new TypeError(
      `${asked}(${JSON.stringify(when)}): a duration is written like "90s", "5m", "2h30m" or "3d".`,
    );
  return { afterMs };
}

function causedBy(cause: unknown): ErrorOptions {
  return cause === undefined ? {} : { cause };
}

/** What is stored of an error is its message and its stack; the cause would be lost. */
function stackWithCause({ stack = "", cause }: Error): string {
  if (cause === undefined) return stack;
  return `${stack}\nCaused by ${textOf(cause instanceof Error ? (cause.stack ?? cause) : cause)}`;
}
