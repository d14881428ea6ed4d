import { nextAfter, previousBefore } from "../cadence/cadence.ts";
import { countWithin } from "../cadence/count-within.ts";
import type { noteRanges } from "../plan/note-passed.ts";
import { counted } from "../plan/unfolding-time.ts";
import type { MovedSchedule } from "./moved-doc.ts";
import type { SpecsRead } from "./read-specs.ts";

type Range = Parameters<typeof noteRanges>[1][number]["ranges"][number];

/**
 * The occurrences that a schedule had in another installation, one range for each version with a
 * spec. Their jobs are in the ledger there. Without the ranges, this ledger would seem to have lost
 * them.
 */
export function rangesBefore({ heldSince }: MovedSchedule, { versions }: SpecsRead): Range[] {
  return versions.flatMap(({ version, spec }, index): Range[] => {
    const next = versions[index + 1];
    const since = Date.parse(version.changedAt);
    const end = next === undefined ? heldSince : next.version.changedAt;
    const to = Math.min(Date.parse(end), Date.parse(heldSince));
    const { count, more } = counted(() => countWithin(spec.cadence, since, to));
    const first = nextAfter(spec.cadence, since);
    const last = previousBefore(spec.cadence, to + 1);
    if (count === 0 || first === null || last === null || last < first) return [];
    return [{ from: first, to: last, count, more, reason: "moved" }];
  });
}
