import type { Tx } from "../db/connect.ts";
import { findCalendar } from "../schedule/calendars.ts";
import { type Hold, holdsOf, holdsOfOne } from "../schedule/holds.ts";
import { binds, holdsBinding, type Label } from "../schedule/shared-holds.ts";
import type { CalendarRef } from "../schedule/stored/cadence-columns.ts";

/** What a decision about a schedule looks up. Asked one by one, or for many schedules together before the first is decided. */
export interface Known {
  holdsOf(scheduleId: string): Promise<Hold[]>;
  /** What this key is held by where it comes under these labels. */
  holdsBinding(labels: readonly Label[], key: string): Promise<Hold[]>;
  calendar(name: string): Promise<CalendarRef | null>;
}

export function askedWhenNeeded(tx: Tx, now: Date): Known {
  return {
    holdsOf: (id) => holdsOfOne(tx, id),
    holdsBinding: async (labels, key) =>
      (await holdsBinding(tx, labels, now)).filter((hold) => binds(hold, key)),
    calendar: (name) => findCalendar(tx, name),
  };
}

const nameOf = ({ scope, name }: Pick<Hold, "scope" | "name">) => `${scope}:${name}`;

/** Of these schedules and labels, under lock. What an operation among them changes is not known here: it is asked anew after it. */
export async function askedTogether(
  tx: Tx,
  { ids, labels }: { ids: readonly string[]; labels: readonly Label[] },
  now: Date,
): Promise<Known> {
  const holds = ids.length === 0 ? new Map<string, Hold[]>() : await holdsOf(tx, ids);
  const binding = Map.groupBy(await holdsBinding(tx, labels, now), nameOf);
  const calendars = new Map<string, Promise<CalendarRef | null>>();
  return {
    holdsOf: async (id) => holds.get(id) ?? [],
    holdsBinding: async (asked, key) =>
      asked.flatMap((label) => (binding.get(nameOf(label)) ?? []).filter((hold) => binds(hold, key))),
    calendar: (name) => {
      const found = calendars.get(name) ?? findCalendar(tx, name);
      calendars.set(name, found);
      return found;
    },
  };
}
