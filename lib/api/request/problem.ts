import * as z from "zod";
import { type Fault, Refusal, type RefusalKind, type Refused } from "../../refusal.ts";

/** Every problem that the API answers with. The title is the same for each problem of a kind. */
const kinds = {
  invalid: { status: 400, title: "The request is not understood" },
  unauthorized: { status: 401, title: "A token is needed" },
  forbidden: { status: 403, title: "The token does not allow this" },
  missing: { status: 404, title: "Not found" },
  "method-not-allowed": { status: 405, title: "The method is not allowed here" },
  conflict: { status: 409, title: "The request conflicts with the current state" },
  precondition: { status: 412, title: "The precondition is not met" },
  "too-large": { status: 413, title: "The body is too large" },
  "media-type": { status: 415, title: "The body is not JSON" },
  impossible: { status: 422, title: "The request is not possible here" },
  quota: { status: 422, title: "A quota is used up" },
  "precondition-required": { status: 428, title: "The request needs a precondition" },
  "too-many": { status: 429, title: "Too many requests" },
  internal: { status: 500, title: "Carillon failed" },
  unavailable: { status: 503, title: "Carillon is not available" },
} as const satisfies Record<string, { status: number; title: string }> &
  Record<RefusalKind, { status: number; title: string }>;

export type ProblemKind = keyof typeof kinds;

export const problemKinds = Object.keys(kinds).filter((name): name is ProblemKind => name in kinds);

export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  detail: string;
  errors?: Fault[];
  movedTo?: string;
  requestId?: string;
}

export const problemSchema = z
  .strictObject({
    type: z.string().describe("The kind of problem: `urn:carillon:problem:…`."),
    title: z.string().describe("The same for every problem of its kind."),
    status: z.int().min(400).max(599),
    detail: z.string().describe("A sentence about this problem."),
    errors: z
      .array(z.strictObject({ path: z.string(), message: z.string() }))
      .optional()
      .describe("Every fault of the input with its path; up to a hundred."),
    movedTo: z
      .string()
      .optional()
      .describe("The address of the installation to which the schedule, or its prefix, has moved."),
    requestId: z
      .string()
      .optional()
      .describe(
        "The request's id, under which the log has it. An operation of a batch has one if Carillon failed on it.",
      ),
  })
  .meta({ id: "Problem", description: "A problem as RFC 9457 writes it." });

/** A problem that the API itself decides on. The operations throw a Refusal instead. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly kind: ProblemKind;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    kind: ProblemKind,
    detail: string,
    headers: Readonly<Record<string, string>> = {},
    options: ErrorOptions = {},
  ) {
    super(detail, options);
    this.kind = kind;
    this.headers = headers;
  }
}

interface ProblemDetails {
  detail: string;
  faults?: readonly Fault[];
  movedTo?: string | undefined;
  requestId?: string;
}

/** The document of RFC 9457 for a problem. */
export function problemDocument(
  kind: ProblemKind,
  { detail, faults = [], movedTo, requestId }: ProblemDetails,
): ProblemDocument {
  return {
    type: `urn:carillon:problem:${kind}`,
    ...kinds[kind],
    detail,
    ...(faults.length > 0 ? { errors: [...faults] } : {}),
    ...(movedTo === undefined ? {} : { movedTo }),
    ...(requestId === undefined ? {} : { requestId }),
  };
}

/** The document for a refusal of a request, or of an operation in one. */
export function refusalDocument(
  { kind, message: detail, faults, movedTo }: Refused,
  parts: Pick<ProblemDetails, "requestId"> = {},
): ProblemDocument {
  return problemDocument(kind, { detail, faults, movedTo, ...parts });
}

export function forbidden(detail: string): Refusal {
  return new Refusal("forbidden", detail);
}
