import { nextAfter, unreadableReason } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { letGo, setAside } from "../quarantine/quarantine.ts";
import type { PlanAside, StoredSchedule } from "../schedule/stored-schedule.ts";
import { dueAt, timetableOf } from "../schedule/timetable.ts";

/** A plan row that a tick or an edit has passed over. */
export interface PassedRow {
  scheduleId: string;
  version: number;
  occurrence: Date;
  dueAt: Date;
  /** Of the row that stands for what was due under a hold: since when it held. */
  heldSince: Date | null;
}

/** What the quarantine keeps of a plan row, so that the schedule goes on from that occurrence when it can be planned again. */
export function asideOfRow({ version, occurrence, dueAt, heldSince }: PassedRow): PlanAside {
  return {
    version,
    occurrence: occurrence.toISOString(),
    dueAt: dueAt.toISOString(),
    heldSince: heldSince?.toISOString() ?? null,
  };
}

/** The entry of the schedule's version in force; an entry of an older version has been dealt with by the edit that ended it. */
export function asideOf({ aside, version }: StoredSchedule): PlanAside | null {
  return aside?.version === version ? aside : null;
}

export interface Owed {
  occurrence: Date;
  dueAt: Date;
  /** Where it is what was due under a hold that has ended by itself. */
  held: { heldSince: Date; heldUntil: Date } | null;
}

/** From where a schedule goes on that waits in quarantine; null where it does not, or has nothing more to come. */
export function owedOf(schedule: StoredSchedule): Owed | null {
  const aside = asideOf(schedule);
  if (aside === null) return null;
  const [noted, due] = [new Date(aside.occurrence), new Date(aside.dueAt)];
  if (aside.heldSince !== null) {
    const held = { heldSince: new Date(aside.heldSince), heldUntil: due };
    return { occurrence: noted, dueAt: due, held };
  }
  // An edit may have noted its own moment, which is no occurrence.
  const timetable = timetableOf(schedule);
  const first = nextAfter(timetable.cadence, noted.getTime() - 1);
  if (first === null) return null;
  return { occurrence: new Date(first), dueAt: new Date(dueAt(timetable, first)), held: null };
}

/** Whether a change of the schedule must see to its place in quarantine. */
export function isSetAside({ aside, cadence }: StoredSchedule): boolean {
  return aside !== null || unreadableReason(cadence) !== null;
}

/**
 * What becomes of a schedule's entry in quarantine when its version ends. `isMade`: what the entry keeps has been planned by the edit. A schedule
 * whose cadence cannot be read has no next occurrence, so that nothing would plan it again: its new version is set aside, and goes on
 * from what it has owed since, or from the edit.
 */
export async function carryAside(
  tx: Tx,
  before: StoredSchedule,
  after: Pick<StoredSchedule, "id" | "version" | "cadence"> & { isGone: boolean; isMade: boolean },
  cut: Date,
): Promise<void> {
  const reason = after.isGone ? null : unreadableReason(after.cadence);
  const { id, version } = after;
  if (reason === null) {
    if (before.aside !== null) await letGo(tx, "plan", [id]);
    return;
  }
  const owed = after.isMade ? null : asideOf(before);
  const from = cut.toISOString();
  await setAside(tx, "plan", [
    {
      item: id,
      scheduleId: id,
      error: new Error(reason),
      detail:
        owed === null
          ? { version, occurrence: from, dueAt: from, heldSince: null }
          : { ...owed, version, heldSince: null },
    },
  ]);
}
