import { ConnectionLost } from "../../db/connection-lost.ts";
import type { RequestSeat } from "../../db/request-seat.ts";
import { inRequestTime, isOver, requestTime } from "../../db/request-time.ts";
import { sqlState } from "../../db/sql-state.ts";
import { Refusal } from "../../refusal.ts";
import type { RequestLimits } from "./kinds.ts";
import { Problem } from "./problem.ts";
import { passingSeconds, retrySeconds } from "./problem-answer.ts";
import type { Route } from "./route.ts";

export interface Bounds {
  limits: RequestLimits;
  /** The seat that the request needs, if its caller has a team. */
  seat: RequestSeat | undefined;
}

/** Runs a request within the limits of its kind. */
export async function inTime<T>(
  { kind, method }: Pick<Route, "kind" | "method">,
  { limits, seat }: Bounds,
  answer: () => Promise<T>,
): Promise<T> {
  const { statementMs, wholeMs } = limits[kind];
  const until = Math.min(performance.now() + wholeMs, requestTime()?.until ?? Number.POSITIVE_INFINITY);
  const time = { statementMs, until, seat };
  try {
    return await inRequestTime(time, answer);
  } catch (error) {
    if (error instanceof ConnectionLost && isOver(time)) throw overTime(error);
    if (sqlState(error) === "no_seat") throw tooManyAtOnce(error);
    if (kind === "count" && method === "GET" && sqlState(error) === "cancelled") throw tooMuch(statementMs);
    throw error;
  }
}

function overTime(cause: unknown): Problem {
  return new Problem(
    "unavailable",
    "The request took too long and was ended; try again.",
    { "retry-after": String(retrySeconds) },
    { cause },
  );
}

function tooManyAtOnce(cause: unknown): Problem {
  return new Problem(
    "too-many",
    "Other requests with the same prefix use all connections that one prefix may have at a time; try again in 1 s.",
    { "retry-after": passingSeconds },
    { cause },
  );
}

/** A repeat would cost the same. Only reads get this answer: a 422 to a write would be kept. */
function tooMuch(statementMs: number | null): Refusal {
  const limit = statementMs === null ? "the limit of a statement" : `${statementMs / 1_000} s`;
  return new Refusal(
    "impossible",
    `This takes the database longer than ${limit}. Ask for less: a narrower filter, such as a longer prefix or one target, or a shorter time.`,
  );
}
