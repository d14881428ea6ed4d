/**
 * One fault in a caller's request, and its place. `path` is a JSON path such as `target.queue`,
 * empty for the whole.
 */
export interface Fault {
  path: string;
  message: string;
}

/**
 * The kind of a refusal, which the API maps to a status: `invalid` 400, `unauthorized` 401,
 * `forbidden` 403, `missing` 404, `conflict` 409, `precondition` 412, `impossible` 422,
 * `quota` 422.
 */
export type RefusalKind =
  | "invalid"
  | "unauthorized"
  | "forbidden"
  | "missing"
  | "conflict"
  | "precondition"
  | "impossible"
  | "quota";

/** A request that cannot be carried out. It has changed nothing when this is thrown. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly kind: RefusalKind;
  readonly faults: readonly Fault[];
  /** The installation to which the schedule, or its prefix, has moved. */
  readonly movedTo: string | undefined;

  constructor(kind: RefusalKind, detail: string, faults: readonly Fault[] = [], movedTo?: string) {
    super(detail);
    this.kind = kind;
    this.faults = faults;
    this.movedTo = movedTo;
  }
}

/** Whether the schedule is nowhere: one that has moved exists in another installation. */
export const isGone = ({ kind, movedTo }: Refused): boolean => kind === "missing" && movedTo === undefined;

/** A refusal as plain data, because it is stored with the answer to an idempotent request. */
export type Refused = Pick<Refusal, "kind" | "message" | "faults"> & Partial<Pick<Refusal, "movedTo">>;

export function asRefused({ kind, message, faults, movedTo }: Refusal): Refused {
  return { kind, message, faults, movedTo };
}

/**
 * A conflict with other work of this moment: the same request is likely to succeed a moment later.
 */
export class PassingConflict extends Refusal {
  constructor(detail: string) {
    super("conflict", detail);
  }
}
