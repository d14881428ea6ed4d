import type { Tx } from "../../db/connect.ts";
import { highestCharacter } from "../../schedule/filter-schedules.ts";
import type { HoldScope } from "../../schedule/holds.ts";
import type { SharedHold } from "../../schedule/shared-holds.ts";

/** The most schedules of a hold that are counted. */
export const coveredMax = 1_000;

type Counted = Pick<SharedHold, "name"> & {
  scope: HoldScope;
  prefix: string | null;
  members: number | null;
  /** Whether the hold is on all of its schedules, and not being released, so that they are counted. */
  isSet: boolean;
};

/**
 * The holds, each that is set with the number of schedules that it covers now: some were deleted, and
 * others joined, since it was put on. Of a hold of more than `coveredMax` schedules that count would read
 * too many, and the number that it was put on stays.
 */
export async function withCovered<Hold extends Counted>(tx: Tx, holds: readonly Hold[]): Promise<Hold[]> {
  const set = holds.filter(({ isSet }) => isSet);
  if (set.length === 0) return [...holds];
  const of = (each: (hold: Hold) => string) => set.map(each);
  const rows = await tx<{ covered: number }[]>`
    select (case h.scope when 'group' then (${groupCount(tx)}) else (${tagCount(tx)}) end)::int as covered
    from unnest(${of(({ scope }) => scope)}::text[], ${of(({ name }) => name)}::text[], ${of(({ prefix }) => prefix ?? "")}::text[])
      with ordinality h (scope, name, prefix, n)
    order by h.n`;
  const coveredBy = new Map(set.map((hold, n) => [hold, rows[n]?.covered ?? 0]));
  return holds.map((hold) => {
    const covered = coveredBy.get(hold);
    if (covered === undefined) return hold;
    return { ...hold, members: covered > coveredMax ? Math.max(covered, hold.members ?? 0) : covered };
  });
}

// Names and keys are compared as rows: only the index of groups has bounds for rows.
const groupCount = (tx: Tx) => tx`
  select count(*) from (
    select from carillon.schedules s
    where s.deleted_at is null and s.group_key is not null
      and (s.group_key, s.key) >= (h.name collate "C", h.prefix collate "C")
      and (s.group_key, s.key) < (h.name collate "C", h.prefix collate "C" || ${highestCharacter})
    order by s.group_key, s.key limit ${coveredMax + 1}) m`;

/** Only live schedules have rows of tags. */
const tagCount = (tx: Tx) => tx`
  select count(*) from (
    select from carillon.schedule_tags t
    where (t.tag, t.key) >= (h.name collate "C", h.prefix collate "C")
      and (t.tag, t.key) < (h.name collate "C", h.prefix collate "C" || ${highestCharacter})
    order by t.tag, t.key limit ${coveredMax + 1}) m`;
