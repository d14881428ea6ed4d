/** One thing that is wrong in what a caller sent, and where: `path` is a JSON path such as `target.queue`, empty for the whole. */
export interface Fault {
  path: string;
  message: string;
}

/**
 * What kind of refusal; the API turns it into a status. `invalid` 400, `unauthorized` 401, `forbidden` 403, `missing` 404, `conflict` 409, `precondition` 412,
 * `impossible` 422.
 */
export type RefusalKind =
  | "invalid"
  | "unauthorized"
  | "forbidden"
  | "missing"
  | "conflict"
  | "precondition"
  | "impossible";

/** A request that cannot be carried out as asked. Nothing of it has been done when this is thrown. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly kind: RefusalKind;
  readonly faults: readonly Fault[];

  constructor(kind: RefusalKind, detail: string, faults: readonly Fault[] = []) {
    super(detail);
    this.kind = kind;
    this.faults = faults;
  }
}

/** What others do at this moment stands in the way: the same request is likely to succeed a moment later. */
export class PassingConflict extends Refusal {
  constructor(detail: string) {
    super("conflict", detail);
  }
}
