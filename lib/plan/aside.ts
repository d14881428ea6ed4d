import { nextAfter, unreadableReason } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { isOutermost } from "../db/instants.ts";
import { letGo, type SetAside, setAside } from "../quarantine/quarantine.ts";
import {
  findSchedulesById,
  type PlanAside,
  type StoredSchedule,
} from "../schedule/stored/stored-schedule.ts";
import { dueAt, occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";

/** A plan row that a tick or an edit has left out because it could not be planned. */
export interface PassedRow {
  scheduleId: string;
  version: number;
  /** May be an instant that a Date cannot hold, such as infinity. */
  occurrence: Date;
  dueAt: Date;
  /** Start of the hold, if the row covers the occurrences due under a hold. */
  heldSince: Date | null;
  /** Name of a far row that may still be in `plan_far`. */
  far?: string;
}

/** A row that could not be planned, and why. */
export interface FailedRow {
  row: PassedRow;
  error: unknown;
}

/**
 * Puts the schedules of these rows into quarantine, each with the occurrence from which planning
 * continues later. A schedule may have two such rows, from one batch or from two: the one for the
 * end of a hold, and the one of the next occurrence. Runs in the transaction that leaves the rows
 * out, which holds the plan lock.
 */
export async function setPassedAside(tx: Tx, failed: readonly FailedRow[]): Promise<SetAside[]> {
  if (failed.length === 0) return [];
  const inOrder = failed.toSorted((a, b) => a.row.dueAt.getTime() - b.row.dueAt.getTime());
  const ids = inOrder.map(({ row: { scheduleId } }) => scheduleId);
  const rows = await tx<{ item: string; detail: PlanAside | null }[]>`
    select item, detail from carillon.quarantine where consumer = 'plan' and item = any(${ids}::text[])`;
  const kept = new Map(rows.map(({ item, detail }) => [item, detail]));
  const began = await firstOfUnreadable(tx, inOrder);
  const entries = inOrder.map(({ row, error }) => {
    const { scheduleId } = row;
    const detail = withLater(kept.get(scheduleId) ?? null, asideOfRow(row, began.get(row) ?? row.occurrence));
    kept.set(scheduleId, detail);
    return { item: scheduleId, scheduleId, error, detail };
  });
  // `setAside` keeps the first entry of an item; the last one here covers all rows of its schedule.
  return setAside(tx, "plan", entries.toReversed());
}

/**
 * False for an instant that Postgres has and a Date cannot hold: infinity, or a year far before our
 * era. Such an instant is read as the earliest or latest Date.
 */
export function isReadable(instant: Date): boolean {
  return !isOutermost(instant);
}

export const unreadableRow = () => new Error("The occurrence of the plan row is not a readable instant.");

/**
 * For each row with an unreadable occurrence, the earliest instant at which that occurrence can
 * lie: occurrences of the schedule from there on are due with the row or later.
 */
async function firstOfUnreadable(
  tx: Tx,
  failed: readonly FailedRow[],
): Promise<ReadonlyMap<PassedRow, Date>> {
  const rows = failed.map(({ row }) => row).filter(({ occurrence }) => !isReadable(occurrence));
  if (rows.length === 0) return new Map();
  const schedules = await findSchedulesById(
    tx,
    rows.map(({ scheduleId }) => scheduleId),
  );
  const byId = new Map(schedules.map((schedule) => [schedule.id, schedule]));
  return new Map(rows.map((row) => [row, firstDueWith(row, byId.get(row.scheduleId))]));
}

function firstDueWith(
  { dueAt, heldSince }: Pick<PassedRow, "dueAt" | "heldSince">,
  schedule: StoredSchedule | undefined,
): Date {
  const before = heldSince?.getTime() ?? dueAt.getTime() - 1;
  return new Date((schedule === undefined ? before : occurrenceDueBy(timetableOf(schedule), before)) + 1);
}

/**
 * The occurrence of a plan row that no tick has taken yet. If it is unreadable: the schedule's
 * first occurrence that is due with the row.
 */
export function readOccurrence(
  schedule: StoredSchedule,
  { occurrence, dueAt }: Pick<PassedRow, "occurrence" | "dueAt">,
): Date {
  if (isReadable(occurrence)) return occurrence;
  const heldSince = schedule.heldUntil?.getTime() === dueAt.getTime() ? schedule.heldSince : null;
  const from = firstDueWith({ dueAt, heldSince }, schedule);
  return new Date(nextAfter(schedule.cadence, from.getTime() - 1) ?? from);
}

/**
 * Merges the entry of a schedule with a later one. An entry of an older version is replaced: the
 * edit that ended that version has handled it.
 */
function withLater(kept: PlanAside | null, later: PlanAside): PlanAside {
  if (kept?.version !== later.version) return later;
  const far = [kept.far, later.far].filter((name) => name !== undefined).join();
  const isBefore = kept.heldSince !== null && later.heldSince === null;
  const place = isBefore ? { ...kept, next: kept.next ?? later.occurrence } : later;
  return far === "" ? place : { ...place, far };
}

export function asideOfRow({ version, dueAt, heldSince, far }: PassedRow, occurrence: Date): PlanAside {
  return {
    version,
    occurrence: occurrence.toISOString(),
    dueAt: dueAt.toISOString(),
    heldSince: heldSince?.toISOString() ?? null,
    next: null,
    ...(far === undefined ? {} : { far }),
  };
}

/**
 * The entry of the schedule's current version. An entry of an older version has been handled by the
 * edit that ended that version.
 */
export function asideOf({ aside, version }: StoredSchedule): PlanAside | null {
  return aside?.version === version ? aside : null;
}

/** Names of far rows that were left out and may still be in `plan_far`. */
export function farNamesOf(aside: PlanAside | null): string[] {
  return aside?.far?.split(",") ?? [];
}

export interface Owed {
  occurrence: Date;
  dueAt: Date;
  /** Set if these are the occurrences due under a hold that has ended. */
  held: { heldSince: Date; heldUntil: Date } | null;
  /** Set if the occurrences passed over under that hold are not noted in the ledger yet. */
  unnoted: { since: Date; until: Date } | null;
}

/**
 * Where planning of a schedule in quarantine continues, oldest first. Empty if the schedule is not
 * in quarantine, is unreadable, or has no further occurrence.
 */
export function owedOf(schedule: StoredSchedule): Owed[] {
  const aside = asideOf(schedule);
  if (aside === null || unreadableReason(schedule.cadence) !== null) return [];
  const { occurrence, heldSince, next } = aside;
  if (heldSince === null) return owedFrom(schedule, occurrence);
  const due = new Date(aside.dueAt);
  const since = new Date(heldSince);
  const held = { heldSince: since, heldUntil: due };
  const unnoted = aside.ledger === "behind" ? { since, until: due } : null;
  const first = nextAfter(schedule.cadence, Date.parse(occurrence) - 1) ?? Date.parse(occurrence);
  const release = { occurrence: new Date(first), dueAt: due, held, unnoted };
  return [release, ...(next === null ? [] : owedFrom(schedule, next))];
}

/** `noted` may be the moment of an edit, which is not an occurrence. */
function owedFrom(schedule: StoredSchedule, noted: string): Owed[] {
  const timetable = timetableOf(schedule);
  const first = nextAfter(timetable.cadence, Date.parse(noted) - 1);
  if (first === null) return [];
  return [
    { occurrence: new Date(first), dueAt: new Date(dueAt(timetable, first)), held: null, unnoted: null },
  ];
}

/** Whether an edit of the schedule must handle its quarantine entry. */
export function isSetAside({ aside, cadence }: StoredSchedule): boolean {
  return aside !== null || unreadableReason(cadence) !== null;
}

/**
 * Moves or removes a schedule's quarantine entry when its version ends. `isMade`: the edit has made
 * the jobs for which the entry was kept. A schedule with an unreadable cadence has no next
 * occurrence, so nothing would plan it again. Its new version is therefore set aside too, and
 * continues from the occurrence of the old entry or from the edit.
 */
export async function carryAside(
  tx: Tx,
  before: StoredSchedule,
  after: Pick<StoredSchedule, "id" | "version" | "cadence"> & {
    isGone: boolean;
    isMade: boolean;
    isHeld: boolean;
  },
  cut: Date,
): Promise<void> {
  const reason = after.isGone ? null : unreadableReason(after.cadence);
  const { id, version } = after;
  if (reason === null) {
    if (before.aside !== null) await letGo(tx, "plan", [id]);
    return;
  }
  const place = after.isMade ? null : asideOf(before);
  // The version that ends has made the jobs due by the cut; under a hold that continues, only those
  // due before the hold began.
  const madeBy = after.isHeld ? (before.heldSince ?? cut) : cut;
  const made = occurrenceDueBy(timetableOf(before), madeBy.getTime());
  const from = new Date(made + 1).toISOString();
  const owed =
    place !== null && Date.parse(place.occurrence) <= made + 1
      ? { ...place, heldSince: null, next: null }
      : { occurrence: from, dueAt: from, heldSince: null, next: null };
  const released = after.isHeld ? null : releasedUnread(before, place, cut);
  const error = new Error(reason);
  await setAside(tx, "plan", [
    { item: id, scheduleId: id, error, detail: { ...(released ?? owed), version } },
  ]);
}

/**
 * The entry for a hold that ends while the cadence cannot be read. It covers the occurrences due
 * under the hold and those after it, which are separated once the cadence can be read. Null if
 * there is no hold, or if its end has already made the jobs.
 */
function releasedUnread(
  before: StoredSchedule,
  place: PlanAside | null,
  cut: Date,
): Omit<PlanAside, "version"> | null {
  const { heldSince, heldUntil } = before;
  if (heldSince === null) return null;
  const until = heldUntil !== null && heldUntil < cut ? heldUntil : cut;
  const due = place === null ? null : Date.parse(place.dueAt);
  // The occurrences due under the hold became jobs when it ended.
  if (due !== null && due > until.getTime()) return null;
  const since =
    due === null || place?.heldSince != null ? heldSince.getTime() : Math.min(heldSince.getTime(), due - 1);
  return {
    occurrence: new Date(since + 1).toISOString(),
    dueAt: until.toISOString(),
    heldSince: new Date(since).toISOString(),
    next: new Date(occurrenceDueBy(timetableOf(before), until.getTime()) + 1).toISOString(),
    ledger: "behind",
  };
}
