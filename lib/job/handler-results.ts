import { FURTHEST_MS } from "../cadence/bounds.ts";
import { durationMs } from "../cadence/duration.ts";
import { textOf } from "../log/text-of.ts";

/** An instant, or a time after now by the database's clock. */
export type Wanted = { at: Date } | { afterMs: number };

/**
 * A mark that every copy of this module knows: an app may bundle a copy of its own beside the
 * worker's, and `instanceof` fails between copies.
 */
const mark = Symbol.for("carillon.result");

type Marked = "done" | "again" | "retry" | "gave-up";

function marked<Result extends object>(result: Result, as: Marked): Result {
  return Object.defineProperty(result, mark, { value: as });
}

export interface Done {
  readonly kind: "done";
}

/** Nothing is left to do. Returning nothing means the same. */
export const done: Done = Object.freeze(marked({ kind: "done" } as const, "done"));

/** Done for now, to be checked again later. Made by `again`. */
export class Again {
  readonly kind = "again";
  readonly wanted: Wanted;

  constructor(wanted: Wanted) {
    this.wanted = wanted;
    marked(this, "again");
  }
}

/**
 * This attempt has failed, and names the time of the next one. Made by `retryAt` and `retryAfter`.
 */
export class RetryLater extends Error {
  override readonly name = "RetryLater";
  readonly wanted: Wanted;

  constructor(wanted: Wanted, message: string, cause: unknown) {
    super(message, causedBy(cause));
    this.wanted = wanted;
    this.stack = stackWithCause(this);
    marked(this, "retry");
  }
}

/** Another attempt cannot help: the job is dead. Made by `giveUp`. */
export class GaveUp extends Error {
  override readonly name = "GaveUp";

  constructor(message: string, cause: unknown) {
    super(message, causedBy(cause));
    this.stack = stackWithCause(this);
    marked(this, "gave-up");
  }
}

/** The content of a result, in values that the handler cannot change any more. */
export type Said =
  | { kind: "done" }
  | { kind: "again"; wanted: Wanted }
  | { kind: "retry"; wanted: Wanted }
  | { kind: "gave-up" };

/**
 * Reads what a handler returned or threw, from any copy of this module; null for all other values.
 */
export function saidBy(result: unknown): Said | null {
  if (result === done) return { kind: "done" };
  if (typeof result !== "object" || result === null) return null;
  try {
    const as: unknown = Reflect.get(result, mark);
    if (as === "done" || as === "gave-up") return { kind: as };
    if (as !== "again" && as !== "retry") return null;
    const wanted = understoodWanted(Reflect.get(result, "wanted"));
    return wanted === null ? null : { kind: as, wanted };
  } catch {
    // A proxy or an accessor of the handler's own.
    return null;
  }
}

/** Checked, since the handler may have changed the object. */
function understoodWanted(given: unknown): Wanted | null {
  if (typeof given !== "object" || given === null) return null;
  const at: unknown = Reflect.get(given, "at");
  if (at instanceof Date) return Number.isNaN(at.getTime()) ? null : { at: new Date(at) };
  const afterMs: unknown = Reflect.get(given, "afterMs");
  const isDuration = typeof afterMs === "number" && afterMs >= 0 && afterMs <= FURTHEST_MS;
  return isDuration ? { afterMs } : null;
}

/**
 * `return again("2h")` or `return again(date)`: this check is done, and the next is at that time.
 */
export function again(when: Date | string): Again {
  return new Again(wanted(when, "again"));
}

export interface Why {
  message?: string;
  cause?: unknown;
}

/**
 * `throw retryAt(date)`: the attempt counts as failed, and the next one starts then instead of by
 * the schedule's backoff.
 */
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
    return { at: new Date(when) };
  }
  const afterMs = durationMs(when);
  if (afterMs === null)
    throw new TypeError(
      `${asked}(${JSON.stringify(when)}): a duration has the form "90s", "5m", "2h30m" or "3d".`,
    );
  return { afterMs };
}

function causedBy(cause: unknown): ErrorOptions {
  return cause === undefined ? {} : { cause };
}

/** Carillon stores the message and the stack of an error; without this the cause would be lost. */
function stackWithCause({ stack = "", cause }: Error): string {
  if (cause === undefined) return stack;
  return `${stack}\nCaused by ${textOf(cause instanceof Error ? (cause.stack ?? cause) : cause)}`;
}
