import { setImmediate } from "node:timers/promises";
import { nextAfter, unreadableReason } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import {
  type CadenceColumns,
  cadenceColumns,
  cadenceOf,
  rulesOnce,
  withSharedRules,
} from "../schedule/stored/cadence-columns.ts";
import type { Window } from "./window.ts";

interface Range {
  id: string;
  from: Date;
  to: Date;
}

/** How many cadences are searched before other work of the process can run. */
const searchedAtOnce = 250;

/**
 * The ranges without an occurrence in the window. Only a range that begins before the window and ends
 * behind it can be one: its ends are occurrences. A range whose cadence cannot be read is none.
 */
export async function emptyIn<Each extends Range>(
  tx: Tx,
  ranges: readonly Each[],
  window: Window,
): Promise<Set<Each>> {
  const spanning = ranges.filter(({ from, to }) => from.getTime() < window.from && to.getTime() >= window.to);
  const empty = new Set<Each>();
  if (spanning.length === 0) return empty;
  // The cadence does not change within a range, so it is that of the version at its beginning. `offset 0`
  // keeps the lookups apart: for some thousand ranges the planner would read all versions.
  const rows = await tx<(CadenceColumns & { place: number })[]>`
    select k.place::int, ${cadenceColumns(tx, rulesOnce(tx))}
    from unnest(${spanning.map(({ id }) => id)}::bigint[], ${tx.array(spanning.map(({ from }) => from))}::timestamptz[])
      with ordinality k (id, from_at, place)
    cross join lateral (
      select o.spec_version from carillon.schedule_versions o
      where o.schedule_id = k.id and o.changed_at < k.from_at order by o.version desc limit 1) own
    cross join lateral (
      select * from carillon.schedule_versions v where v.schedule_id = k.id and v.version = own.spec_version offset 0) v
    left join carillon.cadences c on c.id = v.cadence_id left join carillon.calendar_versions r on r.id = c.calendar_version`;
  for (const [index, row] of withSharedRules(rows).entries()) {
    const range = spanning[row.place - 1];
    const cadence = cadenceOf(row);
    if (range === undefined || unreadableReason(cadence) !== null) continue;
    const next = nextAfter(cadence, window.from - 1);
    if (next === null || next >= window.to) empty.add(range);
    if (index % searchedAtOnce === searchedAtOnce - 1) await setImmediate();
  }
  return empty;
}
