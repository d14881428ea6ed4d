import type { Tx } from "../db/connect.ts";

export const outageKinds = ["tick", "database", "fast-workers", "slow-workers"] as const;
export type OutageKind = (typeof outageKinds)[number];

/** A time in which no tick ran, no worker of a queue claimed, or the database was away. */
export interface Outage {
  what: OutageKind;
  from: Date;
  /** Null while it lasts. */
  to: Date | null;
}

export interface NotedOutage extends Outage {
  id: string;
  /** When the tick noted it: an outage of the tick or the database, when it was over. */
  notedAt: Date;
}

/** The position at which a page of outages ended. */
export interface OutagePlace {
  from: Date;
  id: string;
}

export interface OutageSearch {
  /** Outages that were not over by then. */
  from?: Date | undefined;
  /** Outages that began before. */
  to?: Date | undefined;
  limit: number;
  before?: OutagePlace | undefined;
}

/**
 * Outages, newest first. Of each kind one lasts at a time: so those of a span are the ones that
 * began in it, and the last one before it. Each kind is read along the index, a page at most.
 */
export async function readOutages(
  tx: Tx,
  { from, to, limit, before }: OutageSearch,
): Promise<{ items: NotedOutage[]; next?: OutagePlace }> {
  const upTo = tx`
    ${to === undefined ? tx`` : tx`and o.from_at < ${to}`}
    ${before === undefined ? tx`` : tx`and (o.from_at, o.id) < (${before.from}, ${before.id}::bigint)`}`;
  const kinds = tx`unnest(${[...outageKinds]}::text[]) k (what)`;
  const rows = await tx<NotedOutage[]>`
    select id, what, from_at as "from", to_at as "to", noted_at as "notedAt"
    from (
      select o.* from ${kinds} cross join lateral (
        select * from carillon.outages o where o.what = k.what ${from === undefined ? tx`` : tx`and o.from_at >= ${from}`} ${upTo}
        order by o.from_at desc, o.id desc limit ${limit + 1}) o
      ${
        from === undefined
          ? tx``
          : tx`
      union all
      select o.* from ${kinds} cross join lateral (
        select * from (
          select * from carillon.outages o where o.what = k.what and o.from_at < ${from} order by o.from_at desc, o.id desc limit 1) o
        where coalesce(o.to_at > ${from}, true) ${upTo}) o`
      }) o
    order by from_at desc, id desc limit ${limit + 1}`;
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return rows.length > limit && last !== undefined
    ? { items, next: { from: last.from, id: last.id } }
    : { items };
}

export function outagePlaceText({ from, id }: OutagePlace): string {
  return `${from.getTime()}-${id}`;
}

/** Null if the text is not a position. */
export function readOutagePlace(text: string): OutagePlace | null {
  const [, ms, id] = /^(\d{1,14})-([1-9]\d{0,17})$/.exec(text) ?? [];
  return ms === undefined || id === undefined ? null : { from: new Date(Number(ms)), id };
}
