/** One fault of the request. */
export interface Fault {
  path: string;
  message: string;
}

/** The body of an answer that reports a problem (RFC 9457). */
export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  detail: string;
  errors?: Fault[];
  /** The address of the installation to which the schedule, or its prefix, has moved. */
  movedTo?: string;
  requestId?: string;
}

/**
 * The API answered that it did not carry out the request. Errors are known by their name: the test
 * kit has a copy of the client, whose errors are those of the app's copy too.
 */
export class CarillonProblem extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === "CarillonProblem";
  }

  override readonly name: string = "CarillonProblem";
  readonly status: number;
  /** The same for each kind of problem: `urn:carillon:problem:conflict`. */
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  /** Every fault of the request, with its path. */
  readonly errors: readonly Fault[];
  /** The address of the installation to which the schedule, or its prefix, has moved. */
  readonly movedTo: string | undefined;
  /** The request's id, under which the server's log has it. Undefined if the answer has none. */
  readonly requestId: string | undefined;
  /** Milliseconds to wait before a retry. */
  readonly retryAfterMs: number | undefined;

  constructor(document: ProblemDocument, retryAfterMs?: number) {
    super(sentenceOf(document));
    this.status = document.status;
    this.type = document.type;
    this.title = document.title;
    this.detail = document.detail;
    this.errors = document.errors ?? [];
    this.movedTo = document.movedTo;
    this.requestId = document.requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * No answer arrived: there is no connection, or it took too long. Whether a write was carried out
 * is not known; the same `idempotencyKey` makes a retry safe.
 */
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

/** The request is not valid (400), or not possible in this deployment (422). */
export function isInvalid(error: unknown): error is CarillonProblem {
  return isProblem(error, 400, 422);
}

/** The token is unknown (401), or does not allow the request (403). */
export function isDenied(error: unknown): error is CarillonProblem {
  return isProblem(error, 401, 403);
}

export function isNotFound(error: unknown): error is CarillonProblem {
  return isProblem(error, 404);
}

export function isConflict(error: unknown): error is CarillonProblem {
  return isProblem(error, 409);
}

/**
 * The schedule has another version than the request names (412), or the request must name one
 * (428).
 */
export function isPreconditionFailed(error: unknown): error is CarillonProblem {
  return isProblem(error, 412, 428);
}

export function isRateLimited(error: unknown): error is CarillonProblem {
  return isProblem(error, 429);
}
