import type { Occurrence } from "../../../client/time.ts";
import { runsShown } from "../../data/edit-queries.ts";
import { type MovedRuns, movedRuns } from "../../data/moved-runs.ts";

interface Coming {
  details: readonly Occurrence[];
}

/** The runs that an edit takes away and adds, among those that both lists show. */
export const movesBetween = (before: readonly Occurrence[], after: readonly Occurrence[]): MovedRuns =>
  movedRuns(before.map(instantOf), after.map(instantOf), runsShown);

const instantOf = ({ at }: Occurrence) => at;

/** The effect of an edit on the coming runs in a sentence; null until both readings are there. */
export const consequenceOf = (stored: Coming | undefined, edited: Coming | undefined) =>
  stored === undefined || edited === undefined ? null : movesBetween(stored.details, edited.details).text;

/** The day that a warning of the server is about: `2027-03-28`. */
export const dayOf = (warning: string): string | undefined => /^\d{4}-\d\d-\d\d(?= )/.exec(warning)?.[0];
