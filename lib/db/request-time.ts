import { AsyncLocalStorage } from "node:async_hooks";
import type postgres from "postgres";
import { ConnectionLost } from "./connection-lost.ts";

/** The time that the statements of one request may take. */
export interface RequestTime {
  /** The limit of each statement; null for that of the role. */
  statementMs: number | null;
  /** The instant of `performance.now()` at which the request is ended. */
  until: number;
}

const ofRequest = new AsyncLocalStorage<RequestTime>();

/** Bounds all statements and transactions of `act`. */
export function inRequestTime<T>(time: RequestTime, act: () => Promise<T>): Promise<T> {
  return ofRequest.run(time, act);
}

export function requestTime(): RequestTime | undefined {
  return ofRequest.getStore();
}

export function isOver({ until }: RequestTime): boolean {
  return performance.now() >= until;
}

/** The time of a transaction that takes at most so long, also where there is no request. */
export function shortened(time: RequestTime | undefined, ms: number): RequestTime {
  const until = performance.now() + ms;
  return { statementMs: time?.statementMs ?? null, until: Math.min(until, time?.until ?? until) };
}

const overText = "its time is over";

/** The refusal of a statement that comes after the time of its request. */
export function refusalOf(time: RequestTime | undefined): ConnectionLost | undefined {
  return time !== undefined && isOver(time) ? new ConnectionLost(overText) : undefined;
}

/** Cuts a connection when the time of the request is over. The returned function prevents that. */
export function cutAtEnd(time: RequestTime | undefined, cut: (why: string) => void): () => void {
  if (time === undefined) return () => {};
  // A timer may be a millisecond early.
  const timer = setTimeout(() => cut(overText), Math.max(0, time.until - performance.now()) + 1);
  return () => clearTimeout(timer);
}

/**
 * Sends `begin`. The limit is part of the transaction and in the same message: no session keeps it,
 * and it takes no round trip.
 */
export function sendBegin(
  control: postgres.ISql,
  time: RequestTime | undefined,
  mode = "isolation level read committed",
): Promise<unknown> {
  const limit = time?.statementMs ?? null;
  if (limit === null) return control.unsafe(`begin ${mode}`).execute();
  return control.unsafe(`begin ${mode}; set local statement_timeout = ${limit}`).execute();
}
