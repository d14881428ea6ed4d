import { PassingConflict, Refusal } from "../refusal.ts";
import { sameJson } from "../schedule/shape/same-json.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";

/**
 * Code of the app, such as a handler's schema, that refuses a body. It may take any amount of time.
 */
export type AppCheck = () => void;

/**
 * The body that an edit would store, and the app's check that has not run on it yet. `edit` is the
 * same object in every attempt of the edit.
 */
export interface Asked {
  edit: object;
  body: ScheduleBody;
  before: ScheduleBody;
  check: AppCheck;
}

/** Thrown instead of running the app's code while locks are held. */
export class Unchecked extends Error {
  override readonly name = "Unchecked";
  readonly asked: readonly Asked[];

  constructor(asked: readonly Asked[]) {
    super("The body of an edit must be checked before the edit takes its locks.");
    this.asked = asked;
  }
}

interface Verdict {
  body: Pick<ScheduleBody, "target" | "payload">;
  refusal: Refusal | null;
}

const verdictsOf = new WeakMap<object, Verdict[]>();

/**
 * How often the app checks the body of one edit. A further check is needed if another edit has
 * changed the schedule since the last one.
 */
const verdictsMax = 10;

/**
 * In the transaction: returns if the body was accepted, throws the refusal if it was refused, and
 * throws `Unchecked` if it was not checked yet.
 */
export function requireChecked(asked: Asked): void {
  const verdicts = verdictsOf.get(asked.edit) ?? [];
  const verdict = verdicts.find(({ body }) => isSame(body, asked.body));
  if (verdict?.refusal === null) return;
  if (verdict !== undefined) throw verdict.refusal;
  if (verdicts.length >= verdictsMax)
    throw new PassingConflict("Other edits keep changing this schedule. Retry the request.");
  throw new Unchecked([asked]);
}

/**
 * Before the transaction: runs the check and remembers its result. True if the body is accepted.
 */
export function checkOutside({ edit, body: { target, payload }, check }: Asked): boolean {
  const refusal = refusalOf(check);
  const verdicts = verdictsOf.get(edit) ?? [];
  verdictsOf.set(edit, [...verdicts, { body: { target, payload }, refusal }]);
  return refusal === null;
}

export function checkEach(asked: readonly Asked[]): void {
  for (const each of asked) checkOutside(each);
}

/**
 * Runs a transaction. If it meets a body that is not checked yet, the check runs outside and the
 * transaction begins again; `verdictsMax` limits how often.
 */
export async function checkingOutside<Done>(
  transaction: () => Promise<Done>,
  check: (asked: readonly Asked[]) => void,
): Promise<Done> {
  for (;;) {
    try {
      return await transaction();
    } catch (error) {
      if (!(error instanceof Unchecked)) throw error;
      check(error.asked);
    }
  }
}

function refusalOf(check: AppCheck): Refusal | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

function isSame(one: Verdict["body"], other: Verdict["body"]): boolean {
  return sameJson(one.payload, other.payload) && sameJson(one.target, other.target);
}
