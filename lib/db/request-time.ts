import { AsyncLocalStorage } from "node:async_hooks";
import type postgres from "postgres";
import { ConnectionLost } from "./connection-lost.ts";
import { type RequestSeat, takeSeat } from "./request-seat.ts";

/** The time that the statements of one request may take. */
export interface RequestTime {
  /** The limit of each statement; null for that of the role. */
  statementMs: number | null;
  /** The instant of `performance.now()` at which the request is ended. */
  until: number;
  /** Missing for callers that reach all keys: none of them is limited. */
  seat?: RequestSeat | undefined;
}

const ofRequest = new AsyncLocalStorage<RequestTime>();

/** Bounds all statements and transactions of `act`. */
export function inRequestTime<T>(time: RequestTime, act: () => Promise<T>): Promise<T> {
  return ofRequest.run(time, act);
}

export function requestTime(): RequestTime | undefined {
  return ofRequest.getStore();
}

/** The statements of `act` need no seat: they take and give back units of a rate. */
export function withoutSeat<T>(act: () => Promise<T>): Promise<T> {
  const time = ofRequest.getStore();
  return time?.seat === undefined ? act() : ofRequest.run({ ...time, seat: undefined }, act);
}

export function isOver({ until }: RequestTime): boolean {
  return performance.now() >= until;
}

/** The time of a transaction that takes at most so long, also where there is no request. */
export function shortened(time: RequestTime | undefined, ms: number): RequestTime {
  const until = performance.now() + ms;
  return { ...time, statementMs: time?.statementMs ?? null, until: Math.min(until, time?.until ?? until) };
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
 * Sends `begin`. The limit and the seat are parts of the transaction and in the same message: no session
 * keeps them, and they take no round trip.
 */
export function sendBegin(
  control: postgres.ISql,
  time: RequestTime | undefined,
  mode = "isolation level read committed",
): Promise<unknown> {
  const limit = time?.statementMs ?? null;
  const seat = time?.seat === undefined ? "" : `; ${takeSeat(time.seat)}`;
  if (limit === null) return control.unsafe(`begin ${mode}${seat}`).execute();
  return control.unsafe(`begin ${mode}; set local statement_timeout = ${limit}${seat}`).execute();
}
