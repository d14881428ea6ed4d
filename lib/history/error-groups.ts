import type { Tx } from "../db/connect.ts";
import { type JobKey, type JobKind, jobId } from "../job/job-id.ts";
import { readJobsAt } from "../job/read-job.ts";
import {
  type DeadFilter,
  type DeadStreams,
  deadStreams,
  isDeadOf,
  isDeadWith,
  newestLooked,
} from "./looked-dead.ts";
import { retryingLooked, retryingOf } from "./looked-retrying.ts";

/** The fields that the jobs of one group share. */
export const groupings = ["target,error", "target", "error", "reason"] as const;
export type Grouping = (typeof groupings)[number];

export interface GroupSearch {
  filter: DeadFilter;
  state: "dead" | "retrying";
  by: Grouping;
  limit: number;
  after?: GroupPlace | undefined;
  /** For one page of dead jobs: each team's largest group comes first, then each team's next one. */
  byTeam?: boolean;
}

/** Where a page of groups ended, and the instant at which its first page began. */
export interface GroupPlace {
  before: Date;
  count: number;
  key: string;
}

export function groupPlaceText({ before, count, key }: GroupPlace): string {
  return `${before.getTime()}/${count}/${key}`;
}

/** Null if the text is not a place. */
export function readGroupPlace(text: string): GroupPlace | null {
  const [, before, count, key] = /^([1-9]\d{0,13})\/([1-9]\d{0,8})\/(.*)$/s.exec(text) ?? [];
  if (before === undefined || count === undefined || key === undefined) return null;
  return { before: new Date(Number(before)), count: Number(count), key };
}

/** The error groups that one filter may name. */
export const errorGroupsMax = 20;

export interface JobGroup {
  /** The error groups of its jobs: one with `target,error`; null if they are too many for a filter. */
  errorGroups: string[] | null;
  target: string | null;
  errorClass: string | null;
  error: string | null;
  reason: string | null;
  count: number;
  firstAt: Date;
  lastAt: Date;
  /** The number of different schedules. */
  schedules: number;
  /** Its last job. */
  sample: { id: string; key: string | null; error: string | null };
}

export interface JobGroups {
  items: JobGroup[];
  next?: GroupPlace;
  /** The number of groups on all pages. */
  groups: number;
  /**
   * Jobs that were looked at, with a filter by schedules only those that match: how many others have
   * failed is no matter of a team. There are `more` beyond the bound.
   */
  looked: number;
  more: boolean;
  /** With `more`, for dead jobs: the oldest death that was looked at. Parcels are in no order of time. */
  lookedFrom: Date | null;
}

interface GroupRow extends Omit<JobGroup, "errorGroups" | "sample"> {
  key: string;
  errorGroups: string[] | null;
  occurrence: Date;
  scheduleId: string;
  kind: JobKind;
  n: number;
}

interface Row extends Partial<GroupRow> {
  now: Date;
  groups: number;
  looked: number;
  more: boolean;
  lookedFrom: Date | null;
}

/**
 * Failed jobs in groups, the largest first: dead ones, or those that wait for their next attempt. A
 * bounded number of the newest ones is looked at. Later pages leave out what has failed since the
 * first one, so that none of its groups comes twice.
 */
export async function groupJobs(tx: Tx, search: GroupSearch): Promise<JobGroups> {
  const { limit, after, state } = search;
  const filter =
    after === undefined ? search.filter : { ...search.filter, to: earlier(search.filter.to, after.before) };
  const streams = await deadStreams(tx, filter);
  if (streams === null) return { items: [], groups: 0, looked: 0, more: false, lookedFrom: null };
  const looked =
    state === "dead"
      ? deadLooked(tx, filter, streams)
      : retryingLooked(tx, filter, await retryingOf(tx, filter));
  const rows = await groupRows(tx, search, looked);
  const [first] = rows;
  if (first === undefined) throw new Error("An aggregate without a row.");
  const groups = rows.flatMap(whole);
  const shown = groups.slice(0, limit);
  const last = shown.at(-1);
  // A job may die in the millisecond of the first page.
  const before = after?.before ?? new Date(first.now.getTime() + 1);
  return {
    items: await withSamples(tx, shown),
    ...(groups.length > limit && last !== undefined
      ? { next: { before, count: last.count, key: last.key } }
      : {}),
    groups: first.groups,
    looked: first.looked,
    more: first.more,
    lookedFrom: first.more && state === "dead" ? first.lookedFrom : null,
  };
}

const earlier = (a: Date | undefined, b: Date): Date => (a !== undefined && a < b ? a : b);

type Sql = ReturnType<typeof newestLooked>;

/** SQL, parts of a `with`: `looked`, `edge`, and in `wanted` those jobs that match the filter. */
function deadLooked(tx: Tx, filter: DeadFilter, streams: DeadStreams): Sql {
  return tx`
    ${newestLooked(tx, filter, streams)}, wanted as materialized (
      select d.* from looked d
      ${hasOwners(filter) ? tx`cross join lateral (select s.* from carillon.schedules s where s.id = d.schedule_id offset 0) s` : tx``}
      where ${hasOwners(filter) ? isDeadOf(tx, filter) : isDeadWith(tx, filter)}
    )`;
}

/** Without such a filter no schedule is looked up. */
const hasOwners = ({ key, prefix, group, tag, target }: DeadFilter) =>
  [key, prefix, group, tag, target].some((each) => each !== undefined);

function groupRows(
  tx: Tx,
  { filter, by, limit, after, byTeam = false }: GroupSearch,
  looked: Sql,
): PromiseLike<Row[]> {
  return tx<Row[]>`
    with ${looked}, named as materialized (
      select w.id, e.target, e.class, e.error
      from (select error_group as id, max(occurrence) as occurrence from wanted where error_group is not null group by 1) w
      cross join lateral (
        select g.target, g.class, g.error from carillon.error_groups g
        where g.id = w.id and g.occurrence >= date_bin('1 day', w.occurrence, 'epoch')
          and g.occurrence < date_bin('1 day', w.occurrence, 'epoch') + interval '24 hours' limit 1) e
    ), keyed as materialized (
      select w.*, ${keyOf(tx, by)} as key, n.target, n.class, n.error from wanted w left join named n on n.id = w.error_group
    ), grouped as materialized (
      select k.key, count(*)::int as count, count(distinct k.schedule_id)::int as schedules, min(k.died_at) as first_at, max(k.died_at) as last_at,
        (array_agg(distinct k.error_group) filter (where k.error_group is not null))[1:${errorGroupsMax + 1}] as groups,
        min(k.target) as target, min(k.class) as class, min(k.error) as error, min(k.reason) as reason, min(k.turn) as turn
      from ${byTeam ? turnsOfTeams(tx) : tx`(select *, 1 as turn from keyed)`} k group by k.key
    ), samples as materialized (
      select distinct on (k.key) k.key, k.occurrence, k.schedule_id, k.kind, k.n from keyed k order by k.key, k.died_at desc, k.schedule_id desc
    ), page as (
      select g.* from grouped g
      ${after === undefined ? tx`` : tx`where g.count < ${after.count} or (g.count = ${after.count} and g.key > ${after.key})`}
      order by g.turn, g.count desc, g.key limit ${limit + 1}
    )
    select carillon.clock() as now, (select count(*)::int from ${hasOwners(filter) ? tx`wanted` : tx`looked`}) as looked, (select more from edge) as more,
      (select count(*)::int from grouped) as groups,
      (select min(died_at) from looked) as "lookedFrom", p.key, p.count, p.schedules, p.first_at as "firstAt", p.last_at as "lastAt",
      p.groups as "errorGroups", p.target, p.class as "errorClass", p.error, p.reason,
      l.occurrence, l.schedule_id as "scheduleId", l.kind, l.n
    from (values (true)) v (one) left join page p on true
    left join samples l on l.key = p.key
    order by p.turn, p.count desc, p.key`;
}

/** SQL: the jobs `keyed`, each with the place of its group among those of its team, the largest first. */
function turnsOfTeams(tx: Tx): Sql {
  return tx`
    (select c.*, dense_rank() over (partition by c.team_id order by c.of_team desc, c.key) as turn
    from (select k.*, count(*) over (partition by k.team_id, k.key) as of_team from keyed k) c)`;
}

/** SQL: the shared fields of the group of a job `w` with the error `n`, as one text. */
function keyOf(tx: Tx, by: Grouping) {
  switch (by) {
    case "target,error":
      return tx`coalesce(w.error_group, '')`;
    case "target":
      return tx`coalesce(n.target, '') collate "C"`;
    case "error":
      return tx`coalesce(left(encode(sha256(convert_to(concat_ws(E'\\n', coalesce(n.class, ''), n.error), 'UTF8')), 'hex'), 12), '') collate "C"`;
    case "reason":
      return tx`coalesce(w.reason, '') collate "C"`;
  }
}

function whole(row: Row): GroupRow[] {
  const { key, count, firstAt, lastAt, occurrence, scheduleId, kind, n } = row;
  if (typeof key !== "string" || typeof count !== "number" || !firstAt || !lastAt) return [];
  if (!occurrence || typeof scheduleId !== "string" || !kind || typeof n !== "number") return [];
  return [row as GroupRow];
}

async function withSamples(tx: Tx, rows: readonly GroupRow[]): Promise<JobGroup[]> {
  const keys: JobKey[] = rows.map(({ occurrence, scheduleId, kind, n }) => ({
    occurrence,
    scheduleId,
    kind,
    n,
  }));
  const jobs = new Map((await readJobsAt(tx, keys)).map((job) => [job.id, job]));
  return rows.map((row) => {
    const id = jobId(row);
    const { key = null, error = null } = jobs.get(id) ?? {};
    const { errorGroups, target, errorClass, reason, count, firstAt, lastAt, schedules } = row;
    return {
      errorGroups: errorGroups === null || errorGroups.length > errorGroupsMax ? null : errorGroups,
      target,
      errorClass,
      error: row.error,
      reason,
      count,
      firstAt,
      lastAt,
      schedules,
      sample: { id, key, error },
    };
  });
}
