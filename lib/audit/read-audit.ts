import type { Tx } from "../db/connect.ts";
import type { Change } from "../history/version-changes.ts";
import { changesOfVersions } from "../history/versions.ts";
import type { Origin } from "../schedule/shape/caller.ts";
import type { Json } from "../schedule/shape/json.ts";
import type { AuditPlace } from "./audit-place.ts";
import { type EntrySearch, findEntries } from "./find-entries.ts";

/** One recorded change: the actor, its origin, the subject, and the values before and after. */
export interface AuditEntry {
  id: string;
  at: Date;
  actor: string;
  action: string;
  subject: string;
  /** The version of a schedule or a calendar. */
  version: number | null;
  /**
   * For subjects that are not one schedule: the prefix of the keys concerned; null if all keys are.
   */
  prefix: string | null;
  /** Null for changes by Carillon itself. */
  origin: Origin | null;
  detail: Json;
  changes: Change[];
}

interface EntryRow extends Omit<AuditEntry, "changes"> {
  scheduleId: string | null;
}

/**
 * Newest first. A page may be shorter than its limit and still have a `next`, since each page reads
 * a limited number of entries.
 */
export async function readAudit(
  tx: Tx,
  { limit, ...search }: EntrySearch,
): Promise<{ items: AuditEntry[]; next?: AuditPlace }> {
  const { places, lookedTo } = await findEntries(tx, { ...search, limit: limit + 1 });
  const shown = places.slice(0, limit);
  const items = await entriesAt(tx, shown);
  const next = places.length > limit ? shown.at(-1) : (lookedTo ?? undefined);
  return next === undefined ? { items } : { items, next };
}

async function entriesAt(tx: Tx, places: readonly AuditPlace[]): Promise<AuditEntry[]> {
  if (places.length === 0) return [];
  const rows = await tx<EntryRow[]>`
    select id, at, actor, action, subject, version, prefix, origin, detail, schedule_id as "scheduleId"
    from carillon.audit
    where (at, id) in (select * from unnest(${tx.array(places.map(({ at }) => at))}::timestamptz[], ${places.map(({ id }) => id)}::bigint[]))
    order by at desc, id desc`;
  const versions = await changesOfVersions(
    tx,
    rows.flatMap(({ scheduleId, version }) =>
      scheduleId === null || version === null ? [] : [{ scheduleId, version }],
    ),
  );
  return rows.map(({ scheduleId, ...row }) => {
    const made = versions.get(`${scheduleId}/${row.version}`);
    return {
      ...row,
      changes: made !== undefined && row.action === `schedule.${made.change}` ? made.changes : [],
    };
  });
}
