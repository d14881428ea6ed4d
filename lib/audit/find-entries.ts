import type { Tx } from "../db/connect.ts";
import { highestCharacter } from "../schedule/filter-schedules.ts";
import type { AuditPlace } from "./audit-place.ts";

export interface AuditFilter {
  subject?: string | undefined;
  /** Schedules whose keys begin with it; and holds, tokens and the like that concern such keys and no others. */
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

/** Entries that fit, newest first, and how far it was looked. */
export interface Found {
  places: AuditPlace[];
  /** Where the look ended without an end of the audit; null where everything was looked at. */
  lookedTo: AuditPlace | null;
}

/** So many entries one page looks at: where few of them fit, it is short, and the next one goes on. */
export const lookedMax = 10_000;

/**
 * The next entries that fit, found by the index of one of the filters. A prefix is among many others first looked for among the newest
 * entries; where these hold too few, it is rare, and all that it has ever had is looked through in the index of subjects.
 */
export async function findEntries(tx: Tx, search: EntrySearch): Promise<Found> {
  const found = await walk(tx, search);
  const { subject, prefix, actor, action } = search.filter;
  const isAlone = subject === undefined && actor === undefined && action === undefined;
  if (prefix === undefined || !isAlone || found.lookedTo === null || found.places.length >= search.limit)
    return found;
  return { places: await lookUpPrefix(tx, prefix, search), lookedTo: null };
}

interface LookedRow extends AuditPlace {
  fits: boolean;
  n: number;
}

async function walk(tx: Tx, search: EntrySearch): Promise<Found> {
  const [lead, column] = leadOf(tx, search.filter);
  // What the index alone tells is found as soon as it is looked at.
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

/** The column that leads the index by which is walked, and its value; none for the one by time alone. */
function leadOf(tx: Tx, { subject, actor }: AuditFilter) {
  if (subject !== undefined) return [{ column: tx`a.subject,`, value: subject }, tx`subject desc,`] as const;
  if (actor !== undefined) return [{ column: tx`a.actor,`, value: actor }, tx`actor desc,`] as const;
  return [null, tx``] as const;
}

function isCovered({ subject, prefix, actor, action }: AuditFilter): boolean {
  return prefix === undefined && action === undefined && (subject === undefined || actor === undefined);
}

type Lead = ReturnType<typeof leadOf>[0];

/** Nothing was done before, and nothing will be after. */
const begin = new Date(0);
const never = new Date("9999-12-31T00:00:00Z");

/** Bounds of all columns of an index, instead of equality of the first, leave the planner no other one. */
function within(tx: Tx, { filter: { from, to }, before }: EntrySearch, lead: Lead) {
  const columns = tx`(${lead?.column ?? tx``} a.at, a.id)`;
  const value = lead === null ? tx`` : tx`${lead.value}::text,`;
  const end =
    before !== undefined && (to === undefined || before.at < to) ? before : { at: to ?? never, id: "0" };
  return tx`${columns} >= (${value} ${from ?? begin}::timestamptz, 0)
    and ${columns} < (${value} ${end.at}::timestamptz, ${end.id}::bigint)`;
}

/** Whether an entry `a` is one of those that are meant. */
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

/** By the indexes alone, whatever else there is. */
function lookUpPrefix(tx: Tx, prefix: string, search: EntrySearch): Promise<AuditPlace[]> {
  const inTime = within(tx, search, null);
  // Fenced in (`offset 0`): what stands in order of time would be walked through to its end, where so few are found.
  const newest = (wanted: ReturnType<typeof ofKeys>) => tx`
    (select a.at, a.id from (select a.at, a.id from carillon.audit a where ${wanted} offset 0) a
    where ${inTime} order by a.at desc, a.id desc limit ${search.limit})`;
  return tx<AuditPlace[]>`
    ${newest(ofKeys(tx, prefix))} union ${newest(ofPrefix(tx, prefix))} order by at desc, id desc limit ${search.limit}`.then(
    (rows) => [...rows],
  );
}
