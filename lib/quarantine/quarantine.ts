import type postgres from "postgres";
import type { Sql, Tx } from "../db/connect.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";

/**
 * The loops over rows that callers or other parts wrote. Each sets aside the row that it fails on
 * and goes on with the next ones. docs/observability.md explains each name for an engineer on call.
 */
export const consumers = [
  "archive",
  "backlog",
  "calendar-replan",
  "claim",
  "day-drop",
  "day-look",
  "ended",
  "ended-hold",
  "follower",
  "forget",
  "inbox",
  "lane",
  "lease",
  "offer",
  "plan",
  "purge",
  "shared-hold",
  "tally",
  "target",
  "turn",
  "unused-target",
  "wanted-hold",
  "zone-replan",
] as const;

export type Consumer = (typeof consumers)[number];

/** Data that a consumer needs to retry a row. */
export type Detail = Readonly<Record<string, string | number | null>>;

/** A row that its consumer failed on. */
export interface Failed {
  item: string;
  error: unknown;
  scheduleId?: string | null;
  detail?: Detail;
}

export interface SetAside {
  item: string;
  scheduleId: string | null;
  reason: string;
  tries: number;
  nextAt: Date;
}

/** A row is retried after 1, 2, 4 … 64 minutes. */
const doublingsMax = 6;
/** Keeps a number of tries that was written by hand in range. */
const triesMax = 1_000_000_000;

/**
 * Sets rows aside, or postpones those that failed again. Runs in the transaction that skips them,
 * if there is one.
 */
export async function setAside(tx: Tx, consumer: Consumer, failed: readonly Failed[]): Promise<SetAside[]> {
  if (failed.length === 0) return [];
  // If an item is listed twice, its first entry counts.
  const byItem = new Map(failed.toReversed().map((each) => [each.item, each]));
  const rows = [...byItem.values()].map(({ item, error, scheduleId = null, detail = null }) => ({
    item,
    schedule_id: scheduleId,
    reason: errorText(error),
    detail,
  }));
  return tx<SetAside[]>`
    insert into carillon.quarantine as q (consumer, item, schedule_id, reason, detail, first_at, last_at, tries, next_at)
    select ${consumer}, r.item, r.schedule_id, r.reason, r.detail, clock.now, clock.now, 1, clock.now + interval '1 minute'
    from (select carillon.clock() as now) clock cross join (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
        r (item text, schedule_id bigint, reason text, detail jsonb) order by item) r
    on conflict (consumer, item) do update
    set schedule_id = excluded.schedule_id, reason = excluded.reason, detail = coalesce(excluded.detail, q.detail), last_at = excluded.last_at,
      tries = least(greatest(q.tries, 0), ${triesMax}::int) + 1,
      next_at = excluded.last_at + interval '1 minute' * power(2, least(greatest(q.tries, 0), ${doublingsMax}))
    returning item, schedule_id as "scheduleId", reason, tries, next_at as "nextAt"`;
}

export interface SetFreeAside {
  aside: SetAside[];
  /**
   * Rows whose entry another transaction has locked: the entry is unchanged, and they are retried
   * with the next tick.
   */
  locked: Failed[];
}

/** `setAside` for a loop that goes on with other rows: it does not wait for locked entries. */
export async function setFreeAside(
  tx: Tx,
  consumer: Consumer,
  failed: readonly Failed[],
): Promise<SetFreeAside> {
  if (failed.length === 0) return { aside: [], locked: [] };
  const rows = await tx<{ item: string }[]>`
    with free as materialized (
      select item from carillon.quarantine where ${ofItems(tx, consumer, failed)} for update skip locked)
    select item from carillon.quarantine where ${ofItems(tx, consumer, failed)} and item not in (select item from free)`;
  const isLocked = new Set(rows.map(({ item }) => item));
  const { free = [], locked = [] } = Object.groupBy(failed, ({ item }) =>
    isLocked.has(item) ? "locked" : "free",
  );
  return { aside: await setAside(tx, consumer, free), locked };
}

const ofItems = (tx: Tx, consumer: Consumer, failed: readonly Failed[]) =>
  tx`consumer = ${consumer} and item = any(${failed.map(({ item }) => item)}::text[])`;

/** Logs the rows that were set aside, and those that could not be, after the transaction. */
export function logSetFreeAside(log: Log, consumer: Consumer, { aside, locked }: SetFreeAside): void {
  logSetAside(log, consumer, aside);
  for (const { item, error } of locked)
    log.warn("quarantine.entry-locked", { consumer, item, error: errorText(error) });
}

/** Logs the rows that were set aside, after the transaction: ids and the reason without values. */
export function logSetAside(log: Log, consumer: Consumer, rows: readonly SetAside[]): void {
  for (const { item, scheduleId, reason, tries, nextAt } of rows)
    log.error("quarantine.set-aside", {
      consumer,
      item,
      schedule: scheduleId,
      tries,
      next: nextAt.toISOString(),
      error: reason,
    });
}

/**
 * Deletes the entries of rows that have succeeded or are gone. Costs one lookup in an empty index
 * if there are none.
 */
export async function letGo(tx: Tx, consumer: Consumer, items: readonly string[]): Promise<void> {
  if (items.length === 0) return;
  await tx`delete from carillon.quarantine where consumer = ${consumer} and item = any(${[...items]}::text[])`;
}

/**
 * Like `letGo`, for rows that are done already: a locked entry stays, and is deleted when its row
 * is retried.
 */
export async function letGoUnlocked(tx: Tx, consumer: Consumer, items: readonly string[]): Promise<void> {
  if (items.length === 0) return;
  await dropEntries(tx, tx`q.consumer = ${consumer} and q.item = any(${[...items]}::text[])`);
}

/**
 * Deletes the entries (q) for which `condition` is true, except locked ones: another tick deletes
 * those.
 */
export const dropEntries = (tx: Tx, condition: postgres.PendingQuery<postgres.Row[]>) => tx`
  delete from carillon.quarantine where ctid = any(array(
    select q.ctid from carillon.quarantine q where ${condition} for update of q skip locked))`;

/** SQL: the row waits in quarantine for its next retry, so that the consumer leaves it out. */
export const waitsAside = (tx: Tx, consumer: Consumer, item: postgres.PendingQuery<postgres.Row[]>) => tx`
  exists (
    select from carillon.quarantine q
    where q.consumer = ${consumer} and q.item = (${item})::text and q.next_at > (select carillon.clock()))`;

/**
 * SQL: the row is in quarantine, even if its next retry is due. Its entry is deleted after a
 * success.
 */
export const isAside = (tx: Tx, consumer: Consumer, item: postgres.PendingQuery<postgres.Row[]>) => tx`
  exists (select from carillon.quarantine q where q.consumer = ${consumer} and q.item = (${item})::text)`;

/** The items that are in quarantine, each with whether it still waits for its next retry. */
export async function asideAmong(
  tx: Tx,
  consumer: Consumer,
  items: readonly string[],
): Promise<Map<string, { waits: boolean }>> {
  const rows = await tx<{ item: string; waits: boolean }[]>`
    select item, next_at > (select carillon.clock()) as waits from carillon.quarantine
    where consumer = ${consumer} and item = any(${[...items]}::text[])`;
  return new Map(rows.map(({ item, waits }) => [item, { waits }]));
}

/**
 * Consumers whose entry is the only record that the row is still to do; they delete it themselves.
 */
const ownEntries: readonly Consumer[] = ["plan", "shared-hold"];

/**
 * Deletes entries whose row no consumer has retried within an hour of its time: the row is gone, or
 * another part has handled it. Returns their number.
 */
export async function dropForgotten(sql: Sql, most: number): Promise<number> {
  const dropped = await sql`
    delete from carillon.quarantine where (consumer, item) in (
      select consumer, item from carillon.quarantine where ${mayBeForgotten(sql)}
        and next_at < (select carillon.clock()) - ${forgottenAfter}::interval
      order by next_at limit ${most} for update skip locked)`;
  return dropped.count;
}

/** When the first entry may be deleted; null if there is none. */
export const firstForgottenAt = (tx: Tx) => tx`
  (select min(next_at) + ${forgottenAfter}::interval from carillon.quarantine where ${mayBeForgotten(tx)})`;

const forgottenAfter = "1 hour";

const mayBeForgotten = (tx: Tx) => tx`consumer <> all(${[...ownEntries]}::text[])`;
