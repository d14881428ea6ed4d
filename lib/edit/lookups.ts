import type { Tx } from "../db/connect.ts";
import { type QuotaCheck, type QuotaStart, quotaCheck } from "../quota/quota-check.ts";
import { knowTeams } from "../quota/team-list.ts";
import { Refusal } from "../refusal.ts";
import { findCalendar } from "../schedule/calendars.ts";
import { type Hold, holdsOf, holdsOfOne } from "../schedule/holds.ts";
import { missingSchedule, refuseMovedAway, refuseMovedGroup } from "../schedule/moved-away.ts";
import { binds, holdsBinding, type Label } from "../schedule/shared-holds.ts";
import type { CalendarRef } from "../schedule/stored/cadence-columns.ts";
import { readSealingKeys, type SealingKey } from "../sealing/sealing-keys.ts";

/**
 * Rows that a decision about a schedule reads: one by one, or for many schedules together before
 * the first decision.
 */
export interface Lookups {
  holdsOf(scheduleId: string): Promise<Hold[]>;
  /** The holds of these labels that bind this key. */
  holdsBinding(labels: readonly Label[], key: string): Promise<Hold[]>;
  calendar(name: string): Promise<CalendarRef | null>;
  /** The keys of credentials, the newest first. Read only where a target has a credential in clear. */
  sealingKeys(): Promise<readonly SealingKey[]>;
  quota: QuotaCheck;
  /** Refuses a new schedule whose key has moved to another installation. */
  refuseMovedAway(key: string): Promise<void>;
  /** Refuses a group whose serial jobs run in another installation, unless the schedule is in it. */
  refuseMovedGroup(key: string, group: string | null, former?: string | null): Promise<void>;
  /** The refusal for a schedule that does not exist here. */
  missingSchedule(key: string): Promise<Refusal>;
}

export function lookUpOneByOne(tx: Tx, now: Date, quota: QuotaStart): Lookups {
  return {
    holdsOf: (id) => holdsOfOne(tx, id),
    holdsBinding: async (labels, key) =>
      (await holdsBinding(tx, labels, now)).filter((hold) => binds(hold, key)),
    calendar: (name) => findCalendar(tx, name),
    sealingKeys: () => readSealingKeys(tx),
    quota: quotaCheck(tx, quota),
    ...awayLookups(tx, quota),
  };
}

/** Nearly always no prefix has moved out, and no statement is needed. */
function awayLookups(
  tx: Tx,
  { state }: QuotaStart,
): Pick<Lookups, "refuseMovedAway" | "refuseMovedGroup" | "missingSchedule"> {
  const isOut = (key: string) => state.movedOut.some((prefix) => key.startsWith(prefix));
  return {
    refuseMovedAway: (key) => refuseMovedAway(tx, state.movedOut, key),
    refuseMovedGroup: async (key, group, former) => {
      if (group !== former) await refuseMovedGroup(tx, state.movedOut, { key, group });
    },
    missingSchedule: async (key) =>
      isOut(key) ? missingSchedule(tx, key) : new Refusal("missing", `There is no schedule ${key}.`),
  };
}

const nameOf = ({ scope, name }: Pick<Hold, "scope" | "name">) => `${scope}:${name}`;

/**
 * Reads the holds of these schedules and labels, which are locked. Changes by operations of the
 * same wave are not included: the next wave reads again.
 */
export async function lookUpTogether(
  tx: Tx,
  {
    ids,
    keys: wanted,
    labels,
    quota,
  }: { ids: readonly string[]; keys: readonly string[]; labels: readonly Label[]; quota: QuotaStart },
  now: Date,
): Promise<Lookups> {
  await knowTeams(tx, quota.state, wanted);
  const holds = ids.length === 0 ? new Map<string, Hold[]>() : await holdsOf(tx, ids);
  const binding = Map.groupBy(await holdsBinding(tx, labels, now), nameOf);
  let keys: Promise<readonly SealingKey[]> | undefined;
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
    sealingKeys: () => {
      keys ??= readSealingKeys(tx);
      return keys;
    },
    quota: quotaCheck(tx, quota),
    ...awayLookups(tx, quota),
  };
}
