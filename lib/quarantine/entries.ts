import type { Tx } from "../db/connect.ts";

/** A row that is set aside, as callers see it. */
export interface QuarantineEntry {
  consumer: string;
  item: string;
  scheduleId: string | null;
  /**
   * The key of the schedule that waits because of the entry, if there is one and it is still kept.
   */
  key: string | null;
  reason: string;
  firstAt: Date;
  lastAt: Date;
  tries: number;
  nextAt: Date;
}

export interface QuarantineFilter {
  consumer?: string | undefined;
  item?: string | undefined;
  key?: string | undefined;
  /** A prefix of keys. Without it, entries of no schedule are included. */
  prefix?: string | undefined;
}

/** Where a page of entries ended. */
export type EntryPlace = Pick<QuarantineEntry, "consumer" | "item">;

export interface QuarantineSearch {
  filter: QuarantineFilter;
  after?: EntryPlace | undefined;
  limit: number;
}

/** Entries that a search checks before it answers with what it found and a `next`. */
const lookedMax = 5_000;

/**
 * Lists entries in the order of consumer and item. A page may have fewer than `limit` items and
 * still a `next`.
 */
export async function listEntries(
  tx: Tx,
  { filter, after, limit }: QuarantineSearch,
): Promise<{ items: QuarantineEntry[]; next?: EntryPlace }> {
  const { consumer, item, key, prefix = null } = filter;
  const looks = prefix === null ? limit + 1 : lookedMax;
  const looked = await tx<(QuarantineEntry & { fits: boolean })[]>`
    select q.consumer, q.item, q.schedule_id as "scheduleId", s.key, q.reason, q.first_at as "firstAt", q.last_at as "lastAt", q.tries,
      q.next_at as "nextAt", ${prefix}::text is null or coalesce(starts_with(s.key, ${prefix}::text), false) as fits
    from (
      select * from carillon.quarantine
      where true ${after === undefined ? tx`` : tx`and (consumer, item) > (${after.consumer}, ${after.item})`}
        ${consumer === undefined ? tx`` : tx`and consumer = ${consumer}`}
        ${item === undefined ? tx`` : tx`and item = ${item}`}
        ${key === undefined ? tx`` : tx`and schedule_id = any(${schedulesOf(tx, key)})`}
      order by consumer, item limit ${looks}) q
    left join lateral (select key from carillon.schedules where id = q.schedule_id offset 0) s on true
    order by q.consumer, q.item`;
  const fitting = looked.filter(({ fits }) => fits).slice(0, limit);
  const last = fitting.length === limit ? fitting.at(-1) : looked.at(-1);
  const items = fitting.map(({ fits: _, ...entry }) => entry);
  if (last === undefined || (looked.length < looks && last === looked.at(-1))) return { items };
  return { items, next: { consumer: last.consumer, item: last.item } };
}

/** Largest number of earlier schedules of the key that are searched. */
const formerMax = 100;

const schedulesOf = (tx: Tx, key: string) => tx`
  array(
    select id from carillon.schedules where key = ${key} and deleted_at is null
    union all
    (select id from carillon.schedules where key = ${key} and deleted_at is not null order by deleted_at desc limit ${formerMax}))`;

/**
 * Makes entries due, so that their consumers retry them with the next tick. An entry that its
 * consumer is retrying at this moment is skipped.
 */
export async function retryEntries(
  tx: Tx,
  search: QuarantineSearch,
): Promise<{ done: number; next?: EntryPlace }> {
  const { items, next } = await listEntries(tx, search);
  const made = await tx`
    update carillon.quarantine q set next_at = least(q.next_at, clock.now)
    from (select carillon.clock() as now) clock, (
      select consumer, item from carillon.quarantine
      where (consumer, item) in (
        select * from unnest(${items.map(({ consumer }) => consumer)}::text[], ${items.map(({ item }) => item)}::text[]))
      for update skip locked) found
    where q.consumer = found.consumer and q.item = found.item`;
  return { done: made.count, ...(next === undefined ? {} : { next }) };
}

/** Entries of one schedule that an explanation shows. */
const ofOneMax = 3;

/** Why a schedule is set aside. */
export type WhyAside = Pick<QuarantineEntry, "consumer" | "reason" | "firstAt" | "tries" | "nextAt">;

/** Oldest first. */
export function whyAside(tx: Tx, scheduleId: string): PromiseLike<WhyAside[]> {
  return tx<WhyAside[]>`
    select consumer, reason, first_at as "firstAt", tries, next_at as "nextAt"
    from carillon.quarantine where schedule_id = ${scheduleId} order by first_at, consumer, item limit ${ofOneMax}`;
}
