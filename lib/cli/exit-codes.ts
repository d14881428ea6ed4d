import {
  CarillonInputError,
  CarillonProblem,
  CarillonUnreachable,
  isConflict,
  isNotFound,
  isPreconditionFailed,
  isRateLimited,
} from "../client/main.ts";
import { WouldBeRefused } from "../put-preview/would-be-refused.ts";
import {
  EditedMeanwhile,
  Interrupted,
  Missing,
  MovedAway,
  NotConfirmed,
  NotOnTime,
  PartlyDone,
  ProgramEnded,
  ServerFailed,
  UsageFault,
  WouldChange,
} from "./fault.ts";

/** Outcomes that a script can distinguish; listed by `carillon help scripts` and in docs/cli.md. */
export const exitCodes = {
  done: 0,
  refused: 1,
  usage: 2,
  unreachable: 3,
  missing: 4,
  conflict: 5,
  wouldChange: 10,
  problems: 11,
  late: 12,
  stopped: 13,
  interrupted: 130,
} as const;

export const exitCodeWords: readonly (readonly [number, string])[] = [
  [exitCodes.done, "done"],
  [exitCodes.refused, "refused: not valid, not allowed, or not confirmed"],
  [exitCodes.usage, "the command line is not valid; nothing was sent"],
  [exitCodes.unreachable, "no answer, or an answer worth a retry (429, 5xx)"],
  [exitCodes.missing, "not found (404)"],
  [exitCodes.conflict, "a conflict with another edit, or it exists already (409, 412, 428)"],
  [exitCodes.wouldChange, "with --exit-code: something would change"],
  [exitCodes.problems, "status --strict: on time, but something needs attention"],
  [exitCodes.late, "status: jobs run late"],
  [exitCodes.stopped, "status: no tick, or no worker"],
  [exitCodes.interrupted, "stopped by Ctrl-C"],
];

export function exitCodeOf(error: unknown): number {
  if (error instanceof PartlyDone) return exitCodeOf(error.cause);
  if (error instanceof UsageFault || error instanceof CarillonInputError) return exitCodes.usage;
  if (error instanceof ProgramEnded) return error.code;
  if (error instanceof Interrupted) return exitCodes.interrupted;
  if (error instanceof WouldChange) return exitCodes.wouldChange;
  if (error instanceof NotOnTime) return exitCodes[error.verdict];
  if (error instanceof WouldBeRefused) return exitCodes[error.how];
  if (error instanceof NotConfirmed) return exitCodes.refused;
  if (error instanceof CarillonUnreachable || error instanceof ServerFailed || isRateLimited(error))
    return exitCodes.unreachable;
  if (error instanceof Missing || isNotFound(error)) return exitCodes.missing;
  if (
    error instanceof EditedMeanwhile ||
    error instanceof MovedAway ||
    isConflict(error) ||
    isPreconditionFailed(error)
  )
    return exitCodes.conflict;
  if (error instanceof CarillonProblem && (error.status >= 500 || error.status === 0))
    return exitCodes.unreachable;
  return exitCodes.refused;
}
