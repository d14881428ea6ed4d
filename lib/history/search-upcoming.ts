import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { shardCount } from "../plan/shard.ts";
import { fits, type HeadFilter } from "../schedule/filter-schedules.ts";
import type { ScheduleState } from "./read-schedule.ts";
import { failingIn } from "./search-failing.ts";
import type { Looked, Walk } from "./search-page.ts";

interface ComingFilter extends HeadFilter {
  state?: ScheduleState | undefined;
  failing?: boolean | undefined;
  nextFrom?: Date | undefined;
  nextTo?: Date | undefined;
}

/** A schedule and its next due time. */
export interface ComingPlace {
  at: Date;
  id: string;
  /** The next occurrence, if known. */
  occurrence?: Date;
}

export function comingPlaceText({ at, id }: ComingPlace): string {
  return `${at.getTime()}-${id}`;
}

/** Null if the text is not a valid place. */
export function readComingPlace(text: string): ComingPlace | null {
  const [, at, id] = /^(0|[1-9]\d{0,13})-([1-9]\d{0,17})$/.exec(text) ?? [];
  return at === undefined || id === undefined ? null : { at: new Date(Number(at)), id };
}

/** The end of the last year that a schedule may use. */
const lastInstant = new Date("9999-01-01T00:00:00Z");

/**
 * Walks through coming occurrences, soonest first: the plan by due time, and jobs already made by
 * occurrence (jobs have no index by due time). Occurrences moved by `spread` or `slot` keep their
 * plan row after the job is made, and are met there. A schedule matches only at its own next
 * occurrence, and so once.
 */
export function comingWalk(
  tx: Tx,
  { state, failing, nextFrom, nextTo = lastInstant, ...filter }: ComingFilter,
): Walk<ComingPlace> {
  const isNever = state === "paused" || state === "ended";
  return {
    covered: false,
    lookedMax: 8_000,
    look: async (after, most) => {
      const now = await databaseClock(tx);
      const from = nextFrom === undefined || nextFrom < now ? now : nextFrom;
      if (isNever || from >= nextTo) return { found: [], last: null };
      return look(tx, { ...filter, held: false }, { from, to: nextTo, after }, most);
    },
    judge: async (reads, places) => {
      const dead = failing === true ? await failingIn(tx, reads) : null;
      return reads.map(({ id, nextAt }, index) => {
        const isNext = nextAt !== null && nextAt.getTime() === places[index]?.occurrence?.getTime();
        return isNext && (dead === null || dead.has(id));
      });
    },
  };
}

interface Stretch {
  from: Date;
  to: Date;
  after: ComingPlace | undefined;
}

async function look(
  tx: Tx,
  filter: HeadFilter,
  stretch: Stretch,
  most: { looked: number; found: number },
): Promise<Looked<ComingPlace>> {
  const rows = await tx<
    {
      looked: number;
      lastAt: Date | null;
      lastId: string | null;
      at: Date | null;
      id: string | null;
      occurrence: Date | null;
    }[]
  >`
    with looked as materialized (
      select * from (
        (${madeJobs(tx, stretch, most.looked)})
        union all (${planned(tx, "plan", stretch, most.looked)})
        union all (${planned(tx, "plan_far", stretch, most.looked)})
      ) l order by at, id limit ${most.looked}
    ), found as (
      select distinct l.at, l.id, l.occurrence from looked l
      cross join lateral (select * from carillon.schedules s where s.id = l.id and coalesce(s.deleted_at, 'infinity') = 'infinity' offset 0) s
      where (l.version is null or l.version = s.version) and ${fits(tx, filter)} and not exists (
        select from carillon.plan p where l.due <> l.occurrence
          and p.shard = s.shard and p.due_at = l.due and p.schedule_id = l.id and p.occurrence = l.occurrence and p.version = s.version offset 0)
      order by l.at, l.id limit ${most.found})
    select e.looked, e.at as "lastAt", e.id as "lastId", f.at, f.id, f.occurrence
    from (select count(*)::int as looked, (array_agg(at order by at desc, id desc))[1] as at, (array_agg(id order by at desc, id desc))[1] as id from looked) e
    left join found f on true order by f.at, f.id`;
  const found = rows.flatMap(({ at, id, occurrence }) =>
    at === null || id === null || occurrence === null ? [] : [{ id, place: { at, id, occurrence } }],
  );
  const { looked = 0, lastAt = null, lastId = null } = rows[0] ?? {};
  if (found.length === most.found) return { found, last: found.at(-1)?.place ?? null };
  const isOver = looked < most.looked || lastAt === null || lastId === null;
  return { found, last: isOver ? null : { at: lastAt, id: lastId } };
}

/** Rechecks count too: one may be the next to come. */
function madeJobs(tx: Tx, { from, to, after }: Stretch, most: number) {
  return tx`
    select j.occurrence as at, j.schedule_id as id, j.occurrence, null::int as version, j.due_at as due from carillon.jobs j
    where j.occurrence >= ${from} and j.occurrence < ${to} ${beyond(tx, tx`(j.occurrence, j.schedule_id)`, after)}
      and j.kind in ('cadence', 'again')
    order by j.occurrence, j.schedule_id limit ${most}`;
}

/** Each shard's rows have this order; they are merged. */
function planned(tx: Tx, table: "plan" | "plan_far", { from, to, after }: Stretch, most: number) {
  const ofShard = (shard: number) => tx`
    (select p.due_at as at, p.schedule_id as id, p.occurrence, p.version, null::timestamptz as due from ${tx(`carillon.${table}`)} p
    where p.shard = ${shard} and p.due_at >= ${from} and p.due_at < ${to} ${beyond(tx, tx`(p.due_at, p.schedule_id)`, after)}
    order by p.due_at, p.schedule_id limit ${most})`;
  const all = Array.from({ length: shardCount }, (_, shard) => ofShard(shard)).reduce(
    (before, each) => tx`${before} union all ${each}`,
  );
  return tx`select * from (${all}) p order by at, id limit ${most}`;
}

function beyond(tx: Tx, place: ReturnType<Tx>, after: ComingPlace | undefined) {
  return after === undefined ? tx`` : tx`and ${place} > (${after.at}::timestamptz, ${after.id}::bigint)`;
}
