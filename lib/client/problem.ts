/** One fault in what was sent. */
export interface Fault {
  path: string;
  message: string;
}

/** What the API answers where it does not do what was asked (RFC 9457). */
export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  detail: string;
  errors?: Fault[];
  requestId?: string;
}

/** The API has answered, and has not done what was asked. */
export class CarillonProblem extends Error {
  override readonly name: string = "CarillonProblem";
  readonly status: number;
  /** Stays the same for each kind of problem: `urn:carillon:problem:conflict`. */
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  /** Every fault in what was sent, by its path. */
  readonly errors: readonly Fault[];
  /** Under this the log has the cause, where something failed inside. */
  readonly requestId: string | undefined;
  /** After so many milliseconds the same request may succeed. */
  readonly retryAfterMs: number | undefined;

  constructor(document: ProblemDocument, retryAfterMs?: number) {
    super(sentenceOf(document));
    this.status = document.status;
    this.type = document.type;
    this.title = document.title;
    this.detail = document.detail;
    this.errors = document.errors ?? [];
    this.requestId = document.requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No answer came: there is no connection, or it took too long. Whether a write was done is not known; the same `idempotencyKey` makes a repetition safe. */
export class CarillonUnreachable extends Error {
  override readonly name: string = "CarillonUnreachable";
  readonly url: string;
  readonly idempotencyKey: string | undefined;

  constructor(url: string, why: string, parts: { cause: unknown; idempotencyKey?: string | undefined }) {
    super(`${url} does not answer: ${why}`, { cause: parts.cause });
    this.url = url;
    this.idempotencyKey = parts.idempotencyKey;
  }
}

function sentenceOf({ detail, errors = [] }: ProblemDocument): string {
  if (errors.length === 0) return detail;
  const faults = errors.map(({ path, message }) => (path === "" ? message : `${path} ${message}`));
  return `${detail} ${faults.join("; ")}.`;
}

function isProblem(error: unknown, ...statuses: number[]): error is CarillonProblem {
  return error instanceof CarillonProblem && statuses.includes(error.status);
}

/** What was sent is not understood (400), or not possible in this deployment (422). */
export function isInvalid(error: unknown): error is CarillonProblem {
  return isProblem(error, 400, 422);
}

/** The token is not known (401), or does not allow this (403). */
export function isDenied(error: unknown): error is CarillonProblem {
  return isProblem(error, 401, 403);
}

export function isNotFound(error: unknown): error is CarillonProblem {
  return isProblem(error, 404);
}

/** What is there stands against it (409). */
export function isConflict(error: unknown): error is CarillonProblem {
  return isProblem(error, 409);
}

/** Somebody was faster: the version is not the one that was named (412), or one has to be named (428). */
export function isPreconditionFailed(error: unknown): error is CarillonProblem {
  return isProblem(error, 412, 428);
}

export function isRateLimited(error: unknown): error is CarillonProblem {
  return isProblem(error, 429);
}
