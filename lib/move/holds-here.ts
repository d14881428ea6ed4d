import type { Lookups } from "../edit/lookups.ts";
import { type Hold, heldUntilOf, isSameHold } from "../schedule/holds.ts";
import { labelsOf } from "../schedule/shared-holds.ts";
import type { Held } from "../schedule/stored/version-rows.ts";
import type { Admitted } from "./decide-arrivals.ts";

export interface HoldsHere {
  holds: Hold[];
  held: Held | null;
  /** Until when others than the move held it, if they do no more. */
  ended: Date | null;
}

/**
 * The holds of a schedule that arrives: its own that have not ended, and those of its labels here. A
 * hold of a label that is not known here becomes one of the schedule, so that a person can release
 * it.
 */
export async function holdsHere(
  known: Lookups,
  { state: { now }, specs, schedule: { key, holds, heldSince, heldTo } }: Admitted,
): Promise<HoldsHere> {
  const ofLabels = await known.holdsBinding(labelsOf(specs.current.spec.body), key);
  const sent = holds.map(
    (hold): Hold => ({
      ...hold,
      since: new Date(hold.since),
      until: hold.until === null ? null : new Date(hold.until),
    }),
  );
  const own = sent
    .filter(({ until }) => until === null || until > now)
    .filter((hold) => !ofLabels.some((each) => isSameHold(each, hold)))
    .map((hold): Hold => (hold.scope === "schedule" ? hold : { ...hold, ...asOwn(hold) }));
  const standing = [...[...Map.groupBy(own, ({ owner }) => owner).values()].flatMap(asOne), ...ofLabels];
  if (standing.length > 0) {
    const held = { since: new Date(heldSince), until: heldUntilOf(standing) };
    return { holds: standing, held, ended: null };
  }
  const ends = [...(heldTo === null ? [] : [new Date(heldTo)]), ...sent.flatMap(({ until }) => until ?? [])];
  const last = ends.reduce<Date | null>((a, b) => (a === null || b > a ? b : a), null);
  return { holds: [], held: null, ended: last };
}

const asOwn = ({ scope, name, reason }: Hold) => ({
  scope: "schedule" as const,
  name: "",
  reason: [`Hold of the ${scope} ${name}.`, ...(reason === null ? [] : [reason])].join(" "),
});

/** The holds of one owner that are all of the schedule here become one, which ends with the last of them. */
function asOne(holds: readonly Hold[]): Hold[] {
  const [first, ...others] = holds;
  if (first === undefined || others.length === 0) return [...holds];
  const reasons = holds.flatMap(({ reason }) => reason ?? []);
  return [{ ...first, until: heldUntilOf(holds), reason: reasons.length === 0 ? null : reasons.join(" ") }];
}
