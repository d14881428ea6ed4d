import { FURTHEST_MS } from "../cadence/bounds.ts";
import { durationMs } from "../cadence/duration.ts";
import { textOf } from "../log/text-of.ts";

/** An instant, or so long after now by the database's clock. */
export type Wanted = { at: Date } | { afterMs: number };

/** Known to every copy of this module: an app may bundle one of its own beside the worker's, and classes are told apart by their copy. */
const mark = Symbol.for("carillon.result");

type Marked = "done" | "again" | "retry" | "gave-up";

function marked<Result extends object>(result: Result, as: Marked): Result {
  return Object.defineProperty(result, mark, { value: as });
}

export interface Done {
  readonly kind: "done";
}

/** Nothing is left to do. Returning nothing says the same. */
export const done: Done = Object.freeze(marked({ kind: "done" } as const, "done"));

/** Done for now: look again later. Made by `again`. */
export class Again {
  readonly kind = "again";
  readonly wanted: Wanted;

  constructor(wanted: Wanted) {
    this.wanted = wanted;
    marked(this, "again");
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
    marked(this, "retry");
  }
}

/** Trying again cannot help: the job is dead. Made by `giveUp`. */
export class GaveUp extends Error {
  override readonly name = "GaveUp";

  constructor(message: string, cause: unknown) {
    super(message, causedBy(cause));
    this.stack = stackWithCause(this);
    marked(this, "gave-up");
  }
}

/** What a result says, in values that its handler does not have. */
export type Said =
  | { kind: "done" }
  | { kind: "again"; wanted: Wanted }
  | { kind: "retry"; wanted: Wanted }
  | { kind: "gave-up" };

/** Reads what a handler returned or threw, whichever copy of this module made it. Null for everything that none of them made. */
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

/** The handler may have changed it since it was made. */
function understoodWanted(given: unknown): Wanted | null {
  if (typeof given !== "object" || given === null) return null;
  const at: unknown = Reflect.get(given, "at");
  if (at instanceof Date) return Number.isNaN(at.getTime()) ? null : { at: new Date(at) };
  const afterMs: unknown = Reflect.get(given, "afterMs");
  const isDuration = typeof afterMs === "number" && afterMs >= 0 && afterMs <= FURTHEST_MS;
  return isDuration ? { afterMs } : null;
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
    return { at: new Date(when) };
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
