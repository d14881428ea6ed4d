import type { Tx } from "../db/connect.ts";
import { bulkActions } from "../history/version-detail.ts";
import { highestCharacter } from "../schedule/filter-schedules.ts";
import type { AuditPlace } from "./audit-place.ts";

export interface AuditFilter {
  subject?: string | undefined;
  /**
   * Limits the entries to schedules whose keys begin with the prefix, and to holds, tokens and the
   * like that concern only such keys.
   */
  prefix?: string | undefined;
  actor?: string | undefined;
  action?: string | undefined;
  from?: Date | undefined;
  /** Exclusive. */
  to?: Date | undefined;
}

export interface EntrySearch {
  filter: AuditFilter;
  limit: number;
  before?: AuditPlace | undefined;
}

/** Matching entries, newest first, and the position up to which the audit was read. */
export interface Found {
  places: AuditPlace[];
  /** Where the search stopped before the end of the audit; null if it read to the end. */
  lookedTo: AuditPlace | null;
}

/**
 * The most entries that one page reads. If few of them match, the page is short, and the next page
 * continues.
 */
export const lookedMax = 10_000;

/**
 * The next matching entries, found by the index of one of the filters. For a prefix alone the
 * newest entries are read first. If too few of them match, the prefix is rare, and all of its
 * entries are read from the index of subjects.
 */
export async function findEntries(tx: Tx, search: EntrySearch): Promise<Found> {
  const { subject, prefix, actor, action } = search.filter;
  if (subject !== undefined)
    return withBulk(await walk(tx, search), await bulkOf(tx, subject, search), search);
  const found = await walk(tx, search);
  const isAlone = actor === undefined && action === undefined;
  if (prefix === undefined || !isAlone || found.lookedTo === null || found.places.length >= search.limit)
    return found;
  return { places: await lookUpPrefix(tx, prefix, search), lookedTo: null };
}

/**
 * The entries of bulk actions that changed a schedule with this key. Their versions name them, so
 * their number is that of the bulk actions on this key.
 */
function bulkOf(tx: Tx, key: string, search: EntrySearch): Promise<AuditPlace[]> {
  return tx<AuditPlace[]>`
    select a.at, a.id from (
      select distinct v.bulk_id from carillon.schedules s
      cross join lateral (
        select v.bulk_id from carillon.schedule_versions v
        where v.schedule_id = s.id and v.bulk_id is not null order by v.version desc limit ${lookedMax} offset 0) v
      where s.key = ${key} limit ${lookedMax}) v
    cross join lateral (
      select * from carillon.audit a where a.id = v.bulk_id and a.action in ${bulkActions(tx)} offset 0) a
    where ${within(tx, search, null)} and ${fits(tx, { ...search.filter, subject: undefined })}
    order by a.at desc, a.id desc limit ${search.limit}`.then((rows) => [...rows]);
}

/** Merges both, as far back as the audit was read. */
function withBulk({ places, lookedTo }: Found, bulk: readonly AuditPlace[], { limit }: EntrySearch): Found {
  const isRead = (place: AuditPlace) => lookedTo === null || compared(place, lookedTo) <= 0;
  const merged = [...places, ...bulk.filter(isRead)].sort(compared);
  return { places: merged.slice(0, limit), lookedTo };
}

/** Newest first. */
function compared(a: AuditPlace, b: AuditPlace): number {
  return b.at.getTime() - a.at.getTime() || (BigInt(a.id) < BigInt(b.id) ? 1 : -1);
}

interface LookedRow extends AuditPlace {
  fits: boolean;
  n: number;
}

async function walk(tx: Tx, search: EntrySearch): Promise<Found> {
  const [lead, column] = leadOf(tx, search.filter);
  // If the index covers the filter, every entry that it finds matches, so more than a page need not
  // be read.
  const most = isCovered(search.filter) ? search.limit : lookedMax;
  const rows = await tx<LookedRow[]>`
    select at, id, fits, n from (
      select a.*, ${fits(tx, search.filter)} as fits, (row_number() over (order by ${column} at desc, id desc))::int as n
      from (
        select * from carillon.audit a where ${within(tx, search, lead)}
        order by ${column} at desc, id desc limit ${most}) a) a
    where fits or n = ${most} order by ${column} at desc, id desc limit ${search.limit}`;
  const last = rows.at(-1);
  const places = rows.flatMap(({ at, id, fits: isWanted }) => (isWanted ? [{ at, id }] : []));
  return { places, lookedTo: last?.n === most ? { at: last.at, id: last.id } : null };
}

/**
 * The leading column of the index that is read, and its value; null for the index by time alone.
 */
function leadOf(tx: Tx, { subject, actor }: AuditFilter) {
  if (subject !== undefined) return [{ column: tx`a.subject,`, value: subject }, tx`subject desc,`] as const;
  if (actor !== undefined) return [{ column: tx`a.actor,`, value: actor }, tx`actor desc,`] as const;
  return [null, tx``] as const;
}

function isCovered({ subject, prefix, actor, action }: AuditFilter): boolean {
  return prefix === undefined && action === undefined && (subject === undefined || actor === undefined);
}

type Lead = ReturnType<typeof leadOf>[0];

/** Bounds of time that no entry lies outside of. */
const begin = new Date(0);
const never = new Date("9999-12-31T00:00:00Z");

/**
 * Bounds over all columns of one index, not equality on the first, so that the planner chooses no
 * other index.
 */
function within(tx: Tx, { filter: { from, to }, before }: EntrySearch, lead: Lead) {
  const columns = tx`(${lead?.column ?? tx``} a.at, a.id)`;
  const value = lead === null ? tx`` : tx`${lead.value}::text,`;
  const end =
    before !== undefined && (to === undefined || before.at < to) ? before : { at: to ?? never, id: "0" };
  return tx`${columns} >= (${value} ${from ?? begin}::timestamptz, 0)
    and ${columns} < (${value} ${end.at}::timestamptz, ${end.id}::bigint)`;
}

/** Whether an entry `a` matches the filter. */
function fits(tx: Tx, { subject, prefix, actor, action }: AuditFilter) {
  return tx`(true
    ${subject === undefined ? tx`` : tx`and a.subject = ${subject}`}
    ${actor === undefined ? tx`` : tx`and a.actor = ${actor}`}
    ${action === undefined ? tx`` : tx`and a.action = ${action}`}
    ${prefix === undefined ? tx`` : tx`and (${ofKeys(tx, prefix)} or ${ofPrefix(tx, prefix)} is true)`})`;
}

const ofKeys = (tx: Tx, prefix: string) =>
  tx`(a.schedule_id is not null and a.subject >= ${prefix} and a.subject < ${prefix + highestCharacter})`;

const ofPrefix = (tx: Tx, prefix: string) =>
  tx`(a.prefix >= ${prefix} and a.prefix < ${prefix + highestCharacter})`;

/**
 * Reads the indexes of subjects and prefixes alone, so its cost does not depend on the other
 * entries.
 */
function lookUpPrefix(tx: Tx, prefix: string, search: EntrySearch): Promise<AuditPlace[]> {
  const inTime = within(tx, search, null);
  // `offset 0` is an optimization fence. Without it the planner reads the index by time to its end,
  // since so few entries match.
  const newest = (wanted: ReturnType<typeof ofKeys>) => tx`
    (select a.at, a.id from (select a.at, a.id from carillon.audit a where ${wanted} offset 0) a
    where ${inTime} order by a.at desc, a.id desc limit ${search.limit})`;
  return tx<AuditPlace[]>`
    ${newest(ofKeys(tx, prefix))} union ${newest(ofPrefix(tx, prefix))} order by at desc, id desc limit ${search.limit}`.then(
    (rows) => [...rows],
  );
}
