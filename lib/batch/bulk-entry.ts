import type { Sql, Tx } from "../db/connect.ts";
import type { ScheduleFilter } from "../history/search-schedules.ts";
import { type Caller, originText } from "../schedule/shape/caller.ts";
import type { Json } from "../schedule/shape/json.ts";
import type { BulkAction, BulkChange } from "./bulk-operations.ts";

/** The audit entry of a bulk action. The versions that it makes name the entry. */
export interface BulkEntry {
  at: Date;
  id: string;
}

const actions = {
  pause: "schedules.paused",
  resume: "schedules.resumed",
  delete: "schedules.deleted",
  patch: "schedules.patched",
} as const;

/**
 * Writes the entry, before the first change: a version never names an entry that is missing. A call
 * that is killed leaves an entry with the counts of its batches so far.
 */
export function beginBulk(sql: Sql, { filter, change, reason, caller }: BulkAction): Promise<BulkEntry> {
  const why = reason === undefined ? {} : { reason };
  const detail = { ...changeDetail(change, caller), ...why, filter: filterDetail(filter) };
  return sql.begin(async (tx) => {
    const [entry] = await tx<BulkEntry[]>`
      insert into carillon.audit (at, actor, action, subject, detail, origin, prefix)
      values (carillon.clock(), ${caller.name}, ${actions[change.verb]}, ${filterText(filter)}, ${JSON.stringify(detail)}::text::jsonb,
        ${originText(caller)}::text::jsonb, ${filter.prefix ?? ""})
      returning at, id`;
    if (entry === undefined) throw new Error("An insert without a row.");
    return entry;
  });
}

interface Counts {
  done: number;
  unchanged: number;
  failed: number;
}

/**
 * Notes the counts up to this batch, in its transaction. They stay if the call is cut off. A
 * transaction of its own would be one more step of a request that is repeated.
 */
export async function noteProgress(tx: Tx, entry: BulkEntry, counts: Counts): Promise<void> {
  await addCounts(tx, entry, { soFar: plain(counts) });
}

/** Adds the counts to the entry. */
export async function endBulk(sql: Sql, entry: BulkEntry, counts: Counts): Promise<void> {
  await sql.begin((tx) => addCounts(tx, entry, plain(counts)));
}

async function addCounts(tx: Tx, { at, id }: BulkEntry, counts: object): Promise<void> {
  await tx`select carillon.end_bulk(${at}, ${id}, ${JSON.stringify(counts)}::text::jsonb)`;
}

const plain = ({ done, unchanged, failed }: Counts): Counts => ({ done, unchanged, failed });

/** A pause has the members that a pause of one schedule has. A patch shows its fields, no values. */
function changeDetail(change: BulkChange, caller: Caller): { [name: string]: Json } {
  switch (change.verb) {
    case "pause": {
      const { owner = caller.name, until } = change;
      return { owner, reason: null, until: until?.toISOString() ?? null };
    }
    case "resume":
      return { owner: change.owner ?? caller.name };
    case "delete":
      return {};
    case "patch":
      return { fields: Object.keys(change.patch) };
  }
}

/** Keys are counted: the versions of their schedules name the entry. */
function named({ keys, ...filter }: ScheduleFilter): [string, string | number | boolean][] {
  const fields = Object.entries(filter).flatMap(([name, value]): [string, string | boolean][] =>
    value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : value]],
  );
  return keys === undefined ? fields : [["keys", keys.length], ...fields];
}

const filterDetail = (filter: ScheduleFilter): Json => Object.fromEntries(named(filter));

/** The subject of the entry, such as `prefix crm:, state paused`. */
function filterText(filter: ScheduleFilter): string {
  const text = named(filter)
    .map(([name, value]) => (value === true ? name : `${name} ${value}`))
    .join(", ");
  return text === "" ? "all schedules" : text;
}
