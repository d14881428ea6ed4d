import { nextRunAfter } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import { normalForm } from "../cadence/normal-form.ts";
import type { Tx } from "../db/connect.ts";
import { firstUnderHold } from "../plan/release.ts";
import { isHeldAt } from "../schedule/held.ts";
import { isPulse } from "../schedule/shape/pulse-shape.ts";
import { findSchedulesById, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { dueAt, occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";
import { type Contributor, namesOf } from "./contributors.ts";
import type { PlannedGroup } from "./planned-group.ts";
import type { SampledIds } from "./sampled-schedules.ts";

/** How many schedules are read with one statement. */
const readAtOnce = 1_000;

/**
 * The coming fires of single schedules, computed from their cadences, for windows and prefixes
 * whose rows of the plan would be too many. Schedules with the same cadence and place are one group.
 */
export async function readScheduled(
  tx: Tx,
  { ids, weight }: SampledIds,
  { now, by }: { now: Date; by: Contributor | undefined },
): Promise<PlannedGroup[]> {
  const groups = new Map<string, PlannedGroup>();
  for (let from = 0; from < ids.length; from += readAtOnce) {
    const some = ids.slice(from, from + readAtOnce);
    const [schedules, facts] = await Promise.all([findSchedulesById(tx, some), readFacts(tx, some, by)]);
    for (const schedule of schedules) {
      const { names = [], owner = null } = facts.get(schedule.id) ?? {};
      for (const group of groupsOf(schedule, now.getTime(), owner))
        merge(groups, { ...group, schedules: weight, names });
    }
  }
  return [...groups.values()];
}

interface Facts {
  names: string[];
  owner: string | null;
}

/** The contributors of each schedule, and the owner of the hold that ends last. */
async function readFacts(
  tx: Tx,
  ids: readonly string[],
  by: Contributor | undefined,
): Promise<Map<string, Facts>> {
  const rows = await tx<(Facts & { id: string })[]>`
    select s.id, ${by === undefined ? tx`'{}'::text[]` : namesOf(tx, by)} as names,
      case when s.held_until is not null then (
        select min(h.owner) from carillon.holds h where h.schedule_id = s.id and h.until = s.held_until) end as owner
    from carillon.schedules s where s.id = any(${[...ids]}::bigint[])`;
  return new Map(rows.map(({ id, ...facts }) => [id, facts]));
}

function merge(groups: Map<string, PlannedGroup>, group: PlannedGroup): void {
  const { due, cadence, everyMs, slot, release, names, unmoved } = group;
  const alike = JSON.stringify([due, cadence?.id, everyMs, slot, release, names, unmoved]);
  const known = groups.get(alike);
  if (known === undefined) groups.set(alike, group);
  else known.schedules += group.schedules;
}

type Unweighted = Omit<PlannedGroup, "schedules" | "names">;

/** The end of the schedule's hold, if runs are due under it, and its occurrences from then on. */
function groupsOf(schedule: StoredSchedule, now: number, owner: string | null): Unweighted[] {
  const { heldSince, heldUntil, unread } = schedule;
  if (isPulse(schedule) || unread !== null) return [];
  if (heldSince === null || !isHeldAt(schedule, now)) return comingOf(schedule, now);
  if (heldUntil === null) return [];
  const end = heldUntil.getTime();
  const coming = comingOf(schedule, end);
  if (firstUnderHold(timetableOf(schedule), { since: heldSince, until: heldUntil }) === null) return coming;
  const release = {
    due: end,
    cadence: null,
    everyMs: null,
    isInterval: false,
    slot: null,
    unmoved: false,
    release: { owner },
  };
  return [release, ...coming];
}

function comingOf(schedule: StoredSchedule, after: number): Unweighted[] {
  const timetable = timetableOf(schedule);
  const { cadence, lagMs, slotMs, firesLeft } = timetable;
  const occurrence = firesLeft === 0 ? null : nextRunAfter(cadence, occurrenceDueBy(timetable, after));
  if (occurrence === null) return [];
  const due = dueAt(timetable, occurrence);
  const once = cadence.kind === "once";
  const everyMs = cadence.kind === "interval" ? cadence.everyMs : null;
  return [
    {
      due,
      cadence: once || everyMs !== null ? null : shared(schedule, cadence, occurrence),
      everyMs,
      isInterval: everyMs !== null,
      slot: slotMs === null ? null : { slotMs, lagMs, occurrence },
      unmoved: lagMs === 0 && slotMs === null,
      release: null,
    },
  ];
}

function shared(
  { cadenceId, body }: StoredSchedule,
  of: Cadence,
  occurrence: number,
): NonNullable<PlannedGroup["cadence"]> {
  const expression = normalForm(of);
  // With a window, the same cadence begins or ends at other instants.
  const id =
    of.kind === "window"
      ? JSON.stringify([expression, body.timezone, of.startsAt, of.endsAt])
      : (cadenceId ?? expression);
  return { id, of, expression, timezone: body.timezone, occurrence };
}
