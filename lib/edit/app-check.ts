import { PassingConflict, Refusal } from "../refusal.ts";
import { sameJson } from "../schedule/shape/same-json.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";

/** Code of the app's, such as the schema of a handler, that refuses what a schedule would ask for. It may take any time. */
export type AppCheck = () => void;

/** The body that an edit would store, and the app's code that still has to check it. `edit` stays the same object each time that the edit begins. */
export interface Asked {
  edit: object;
  body: ScheduleBody;
  before: ScheduleBody;
  check: AppCheck;
}

/** Thrown in place of code of the app's that would be run while locks are held. */
export class Unchecked extends Error {
  override readonly name = "Unchecked";
  readonly asked: readonly Asked[];

  constructor(asked: readonly Asked[]) {
    super("What an edit asks for is to be checked before it takes its locks.");
    this.asked = asked;
  }
}

interface Verdict {
  body: Pick<ScheduleBody, "target" | "payload">;
  refusal: Refusal | null;
}

const verdictsOf = new WeakMap<object, Verdict[]>();

/** So often an edit may find that others have changed meanwhile what its patch is put on. */
const verdictsMax = 10;

/** In the transaction: passes what was taken, throws the refusal of what was not, and `Unchecked` where that is not known. */
export function requireChecked(asked: Asked): void {
  const verdicts = verdictsOf.get(asked.edit) ?? [];
  const verdict = verdicts.find(({ body }) => isSame(body, asked.body));
  if (verdict?.refusal === null) return;
  if (verdict !== undefined) throw verdict.refusal;
  if (verdicts.length >= verdictsMax)
    throw new PassingConflict("The schedule is being changed by others at this moment.");
  throw new Unchecked([asked]);
}

/** Before the transaction: runs the check and remembers what it said. True where the body is taken. */
export function checkOutside({ edit, body: { target, payload }, check }: Asked): boolean {
  const refusal = refusalOf(check);
  const verdicts = verdictsOf.get(edit) ?? [];
  verdictsOf.set(edit, [...verdicts, { body: { target, payload }, refusal }]);
  return refusal === null;
}

export function checkEach(asked: readonly Asked[]): void {
  for (const each of asked) checkOutside(each);
}

/** Runs a transaction, and where it meets what is not checked yet, has it checked and begins it again: `verdictsMax` bounds how often. */
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
