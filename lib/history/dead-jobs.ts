import type { Tx } from "../db/connect.ts";
import { type JobKey, jobId, parseJobId } from "../job/job-id.ts";
import { type JobRead, readJobsAt } from "../job/read-job.ts";
import {
  type DeadFilter,
  type DeadStreams,
  deadStreams,
  inStream,
  isDeadOf,
  streamOrder,
  streamRows,
} from "./looked-dead.ts";

/** Where a page of dead jobs ended. */
export interface DeadPlace {
  diedAt: Date;
  key: JobKey;
}

export function deadPlaceText({ diedAt, key }: DeadPlace): string {
  return `${diedAt.getTime()}/${jobId(key)}`;
}

/** Null if the text is not a valid place. */
export function readDeadPlace(text: string): DeadPlace | null {
  const [, diedAt, id = ""] = /^(0|[1-9]\d{0,12})\/(\S+)$/.exec(text) ?? [];
  const key = parseJobId(id);
  return diedAt === undefined || key === null ? null : { diedAt: new Date(Number(diedAt)), key };
}

export interface DeadSearch {
  filter: DeadFilter;
  /** Only jobs whose schedule exists still: others cannot be retried. */
  live?: boolean | undefined;
  order: "newest" | "oldest";
  after?: DeadPlace | undefined;
  limit: number;
}

/**
 * Dead jobs that one round checks. After `roundsMax` rounds the answer has what was found and a
 * `next`.
 */
const lookedMax = 1_000;
const roundsMax = 5;

/**
 * The keys of dead jobs in the order of their death. If the filter names few schedules, only their
 * dead jobs are read, else those of the teams under its prefix, else those of its error groups, else
 * all. Each round is bounded, so a page may have fewer than `limit` items and still a `next`.
 */
export async function findDead(
  tx: Tx,
  { after, limit, ...search }: DeadSearch,
): Promise<{ items: DeadPlace[]; next?: DeadPlace }> {
  const streams = await deadStreams(tx, search.filter);
  if (streams === null) return { items: [] };
  const items: DeadPlace[] = [];
  let place = after;
  for (let round = 0; round < roundsMax; round++) {
    const looked = await lookAt(tx, { ...search, after: place, limit: lookedMax }, streams);
    for (const { fits, ...each } of looked) {
      place = each;
      if (fits) items.push(each);
      if (items.length === limit) break;
    }
    const isLast = looked.length < lookedMax && place?.key === looked.at(-1)?.key;
    if (isLast || looked.length === 0) return { items };
    if (items.length === limit) break;
  }
  return place === undefined ? { items } : { items, next: place };
}

/** Like `findDead`, with the jobs themselves. */
export async function listDead(tx: Tx, search: DeadSearch): Promise<{ items: JobRead[]; next?: DeadPlace }> {
  const { items, next } = await findDead(tx, search);
  const jobs = await readJobsAt(
    tx,
    items.map(({ key }) => key),
  );
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const inOrder = items.flatMap(({ key }) => byId.get(jobId(key)) ?? []);
  return { items: inOrder, ...(next === undefined ? {} : { next }) };
}

type Looked = DeadPlace & { fits: boolean };

async function lookAt(
  tx: Tx,
  { filter, live, order, after, limit }: DeadSearch,
  streams: DeadStreams,
): Promise<Looked[]> {
  const way = order === "newest" ? tx`desc` : tx`asc`;
  const inOrder = tx`d.died_at ${way}, d.schedule_id ${way}, d.occurrence ${way}, d.kind ${way}, d.n ${way}`;
  const behind = after === undefined ? tx`` : beyond(tx, after, order);
  // Bounds on both sides of other streams would make the planner sort what it could read in order.
  const times = streams.by === "team" ? timesBehind(filter, after, order) : filter;
  const inThis = tx`${inStream(tx, streams, times)} ${behind}`;
  const dead =
    streams.by === "all"
      ? tx`select d.* from carillon.dead_jobs d where ${inThis} order by ${inOrder} limit ${limit}`
      : tx`
        select d.* from ${streamRows(tx, streams)} cross join lateral (
          select * from carillon.dead_jobs d where ${inThis}
          order by ${streamOrder(tx, streams, order === "newest" ? "desc" : "asc")} ${inOrder} limit ${limit}) d
        order by ${inOrder} limit ${limit}`;
  const rows = await tx<(JobKey & { diedAt: Date; fits: boolean })[]>`
    select d.occurrence, d.schedule_id as "scheduleId", d.kind, d.n, d.died_at as "diedAt", (${isDeadOf(tx, filter)} ${live === true ? tx`and s.deleted_at is null` : tx``}) is true as fits
    from (${dead}) d
    -- Also one without a schedule counts as looked at: a page that is short would be taken for the last.
    left join lateral (select s.* from carillon.schedules s where s.id = d.schedule_id offset 0) s on true
    order by ${inOrder}`;
  return rows.map(({ diedAt, fits, ...key }) => ({ diedAt, fits, key }));
}

/** The times of a page: the index of a stream is entered at the place where the page before ended. */
function timesBehind(
  { from, to }: DeadFilter,
  after: DeadPlace | undefined,
  order: DeadSearch["order"],
): Pick<DeadFilter, "from" | "to"> {
  if (after === undefined) return { from, to };
  const at = after.diedAt.getTime();
  if (order === "oldest") return { from: new Date(Math.max(at, from?.getTime() ?? at)), to };
  return { from, to: new Date(Math.min(at + 1, to?.getTime() ?? at + 1)) };
}

function beyond(tx: Tx, { diedAt, key }: DeadPlace, order: DeadSearch["order"]) {
  const place = tx`(${diedAt}::timestamptz, ${key.scheduleId}::bigint, ${key.occurrence}::timestamptz, ${key.kind}::carillon.job_kind, ${key.n}::int)`;
  return order === "newest"
    ? tx`and (d.died_at, d.schedule_id, d.occurrence, d.kind, d.n) < ${place}`
    : tx`and (d.died_at, d.schedule_id, d.occurrence, d.kind, d.n) > ${place}`;
}
