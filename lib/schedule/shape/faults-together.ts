import { type Fault, Refusal } from "../../refusal.ts";
import { faultsMax } from "./shape-faults.ts";

/** Finds what else is refused in a body that was not understood, to name it beside the faults there. */
export type Besides = (input: unknown) => readonly Refusal[];

/**
 * One refusal with the faults of several checks, so that a caller can correct them in one go. The
 * request is not understood if one of the checks did not understand it.
 */
export function together(refusals: readonly Refusal[]): Refusal {
  const [first] = refusals;
  if (first === undefined) throw new Error("There is no refusal.");
  if (refusals.length === 1) return first;
  const faults = refusals.flatMap((refusal) => refusal.faults);
  const invalid = refusals.find(({ kind }) => kind === "invalid");
  return new Refusal(
    invalid?.kind ?? "impossible",
    invalid?.message ?? "The schedule is not possible in this deployment.",
    faults.filter((fault, index) => !faults.slice(0, index).some(covers(fault))).slice(0, faultsMax),
  );
}

/** The refusals of these checks. Any other error is thrown. */
export function refusalsOf(...checks: readonly (() => unknown)[]): Refusal[] {
  return checks.flatMap((check) => {
    try {
      check();
      return [];
    } catch (error) {
      if (error instanceof Refusal) return [error];
      throw error;
    }
  });
}

/** Whether an earlier fault is of the same member or of one around it, and so says enough. */
function covers({ path }: Fault): (earlier: Fault) => boolean {
  return ({ path: outer }) =>
    outer === "" || path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);
}
