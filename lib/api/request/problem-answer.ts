import { isPassingFailure } from "../../db/passing-failure.ts";
import { type SqlState, sqlState } from "../../db/sql-state.ts";
import { PassingConflict, Refusal } from "../../refusal.ts";
import { type HttpResponse, toHttp } from "./answer.ts";
import { Problem, problemDocument, refusalDocument } from "./problem.ts";

const contentType = "application/problem+json";

/** Seconds after which a request may be repeated after a temporary failure. */
export const retrySeconds = 2;

export const somethingFailed = "An unexpected error occurred; the log has the cause.";

/** Seconds after which a conflict with another request has probably passed. */
export const passingSeconds = "1";

export const unknownToken = { "www-authenticate": 'Bearer realm="carillon", error="invalid_token"' };

const insufficient = { "www-authenticate": 'Bearer realm="carillon", error="insufficient_scope"' };

/**
 * The answer to a request that ended in an error, with the id of the request. Refusals and problems
 * are worded for callers; the cause of any other error is only in the log, under that id.
 */
export function problemAnswer(error: unknown, requestId: string): HttpResponse {
  if (error instanceof Refusal) {
    const document = refusalDocument(error, { requestId });
    const headers = headersOf(error);
    return toHttp({ status: document.status, body: document, headers }, contentType);
  }
  if (error instanceof Problem) {
    const document = problemDocument(error.kind, { detail: error.message, requestId });
    return toHttp({ status: document.status, body: document, headers: error.headers }, contentType);
  }
  if (isPassingFailure(error)) {
    const document = problemDocument("unavailable", {
      detail: passingText(sqlState(error)),
      requestId,
    });
    return toHttp(
      { status: document.status, body: document, headers: { "retry-after": String(retrySeconds) } },
      contentType,
    );
  }
  const document = problemDocument("internal", {
    detail: somethingFailed,
    requestId,
  });
  return toHttp({ status: document.status, body: document }, contentType);
}

function passingText(state: SqlState | undefined): string {
  if (state === "cancelled") return "A statement of this request took too long and was ended; try again.";
  if (state === "lock_timeout") return "Another change holds what this request needs; try again.";
  if (state === "too_many_connections") return "Too many requests use the database at the moment; try again.";
  if (state === "out_of_memory")
    return "The database has too many locks or too little memory at the moment; try again.";
  return "The database does not answer at the moment; try again.";
}

function headersOf(refusal: Refusal): Readonly<Record<string, string>> {
  if (refusal instanceof PassingConflict) return { "retry-after": passingSeconds };
  if (refusal.kind === "unauthorized") return unknownToken;
  return refusal.kind === "forbidden" ? insufficient : {};
}
