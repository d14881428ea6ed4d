import type { Tx } from "../../db/connect.ts";
import { databaseClock } from "../../db/database-clock.ts";
import { highestCharacter } from "../../schedule/filter-schedules.ts";
import type { HoldScope } from "../../schedule/holds.ts";
import { dayMs } from "../../schedule/shape/timing-shape.ts";
import { bulkActions } from "../version-detail.ts";
import { boardLookedMax, type HoldFilter } from "./hold-board.ts";

/** A hold that has ended, from the audit. */
export interface EndedHold {
  id: string;
  /** `filter`: a resume by filter has released holds of its owner; `name` is the filter. */
  scope: HoldScope | "filter";
  name: string;
  /** How many schedules a resume by filter has released; null for others, and until it has ended. */
  members: number | null;
  /** Null if the audit does not say whose hold it was. */
  owner: string | null;
  reason: string | null;
  /** Null if the pause is not among the entries just before. */
  since: Date | null;
  until: Date | null;
  endedAt: Date;
  endedBy: string;
}

export interface EndedPlace {
  at: Date;
  id: string;
}

/** How far back ended holds are listed. */
export const endedDays = 7;

/** How many earlier entries are read for the pause that began an ended hold. */
const pausesLookedAt = 20;

interface EndedRow extends EndedHold {
  fits: boolean;
}

/**
 * Holds that ended within the last days, newest first. An end of a label's hold is one row: the
 * entries of its members are not in the index. For a prefix: of schedules with these keys, and of
 * labels whose hold covered only such keys.
 */
export async function readEndedHolds(
  tx: Tx,
  { filter, before, limit }: { filter: HoldFilter; before?: EndedPlace | undefined; limit: number },
): Promise<{ items: EndedHold[]; next?: EndedPlace }> {
  const { scope, owner, prefix } = filter;
  const isWhole = scope === undefined && owner === undefined && prefix === undefined;
  const most = isWhole ? limit + 1 : boardLookedMax;
  const since = new Date((await databaseClock(tx)).getTime() - endedDays * dayMs);
  const to = before === undefined ? tx`` : tx`and (a.at, a.id) < (${before.at}, ${before.id}::bigint)`;
  const rows = await tx<EndedRow[]>`
    select a.id, case a.scope when 'schedules' then 'filter' else a.scope end as scope, a.subject as name, a.members, a.owner, coalesce(p.reason, a.reason) as reason, p.at as since, coalesce(p.until, a.until) as until,
      a.at as "endedAt", a.actor as "endedBy", a.fits
    from (
      select a.*, split_part(a.action, '.', 1) as scope, a.detail ->> 'owner' as owner, (a.detail ->> 'done')::int as members,
        coalesce(a.detail ->> 'reason', a.detail -> 'before' ->> 'reason') as reason,
        ${untilIn(tx, tx`coalesce(a.detail ->> 'until', a.detail -> 'before' ->> 'until')`)} as until,
        ((a.detail ->> 'done') is distinct from '0' ${scope === undefined ? tx`` : tx`and a.action = ${`${scope}.resumed`}`}
          ${owner === undefined ? tx`` : tx`and a.detail ->> 'owner' is not distinct from ${owner}`}
          ${prefix === undefined ? tx`` : tx`and ${within(tx, prefix)}`}) as fits
      from (
        select a.* from carillon.audit a
        where ${isEnd(tx)} and (a.at, a.id) >= (${since}::timestamptz, 0::bigint) ${to}
        order by a.at desc, a.id desc limit ${most}) a) a
    left join lateral (${pauseBefore(tx)}) p on a.fits
    order by a.at desc, a.id desc`;
  const fitting = rows.filter(({ fits }) => fits);
  const items = fitting.slice(0, limit);
  const last =
    fitting.length > limit ? items.at(-1) : rows.length === most ? toPlace(rows.at(-1)) : undefined;
  const next = last === undefined ? undefined : toPlace(last);
  return { items: items.map(({ fits: _, ...hold }) => hold), ...(next === undefined ? {} : { next }) };
}

function toPlace(row: EndedHold | EndedPlace | undefined): EndedPlace | undefined {
  if (row === undefined) return undefined;
  return "endedAt" in row ? { at: row.endedAt, id: row.id } : row;
}

/** SQL: the condition of the index `audit_holds_ended`, in its words. */
const isEnd = (tx: Tx) =>
  tx`a.action in ('schedule.resumed', 'group.resumed', 'tag.resumed', 'schedules.resumed') and (a.detail ?| array['group', 'tag']) is not true`;

const within = (tx: Tx, prefix: string) => tx`
  case when a.schedule_id is not null then a.subject >= ${prefix} and a.subject < ${prefix + highestCharacter}
    else starts_with(a.prefix, ${prefix}) is true end`;

/** SQL: an instant in the detail of an entry; null if it is none. */
const untilIn = (tx: Tx, text: ReturnType<typeof isEnd>) =>
  tx`case when ${text} ~ '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d' then (${text})::timestamptz end`;

/** SQL: the newest pause of the same owner before the end `a`. */
const pauseBefore = (tx: Tx) => tx`
  select e.at, e.detail ->> 'reason' as reason, ${untilIn(tx, tx`e.detail ->> 'until'`)} as until
  from (
    (select e.at, e.id, e.detail from (
        select * from carillon.audit e
        where a.schedule_id is not null and e.schedule_id = a.schedule_id and e.version <= a.version
        order by e.schedule_id desc, e.version desc limit ${pausesLookedAt}) e
      where e.action = 'schedule.paused')
    union all
    -- The entry of a bulk pause names no schedule: the version names the entry.
    (select v.changed_at, e.id, e.detail from (
        select v.changed_at, v.bulk_id from carillon.schedule_versions v
        where a.schedule_id is not null and v.schedule_id = a.schedule_id and v.version <= a.version and v.bulk_id is not null
        order by v.version desc limit ${pausesLookedAt}) v
      cross join lateral (select * from carillon.audit e where e.id = v.bulk_id and e.action in ${bulkActions(tx)} offset 0) e
      where e.action = 'schedules.paused')
    union all
    (select e.at, e.id, e.detail from (
        select * from carillon.audit e
        where a.schedule_id is null and e.subject = a.subject and (e.at, e.id) < (a.at, a.id)
        order by e.subject desc, e.at desc, e.id desc limit ${pausesLookedAt}) e
      where e.action = a.scope || '.paused' and e.prefix is not distinct from a.prefix)) e
  where e.at <= a.at and (a.owner is null or e.detail ->> 'owner' = a.owner)
  order by e.at desc, e.id desc limit 1`;
