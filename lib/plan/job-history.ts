import { type Cadence, previousBefore } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { type JobRead, readJobsAt } from "../job/read-job.ts";
import { type CadenceColumns, cadenceOf, type StoredSchedule } from "../schedule/stored-schedule.ts";

interface Segment {
  from: number;
  to: number;
  cadence: Cadence;
  held: boolean;
}

const probesAtOnce = 250;
const probesMax = 5_000;
const versionsMax = 1_000;

/** Of a pause only the end can have jobs: what its resume ran and passed over singly, and the two minutes that are only late. */
const heldProbesMax = 150;

/** Near the end of the year 9999; a cursor from beyond it bounds nothing. */
const lastInstant = 253_402_300_000_000;

/** An `at` may lie so much before the version that names it. */
const earliestMs = 61_000;

/**
 * A schedule's jobs, newest first. Jobs have no index by schedule (it would nearly double what each costs); but each version
 * tells its occurrences, from its beginning to that of the next, so the jobs are probed by primary key, bounded
 * per page. `next` is the last occurrence looked at: a page may be short of `limit` and still have one.
 */
export async function jobsOf(
  tx: Tx,
  schedule: Pick<StoredSchedule, "id">,
  { limit, before, started = false }: { limit: number; before?: number | undefined; started?: boolean },
): Promise<{ items: JobRead[]; next?: number }> {
  const items: JobRead[] = [];
  let probed = 0;
  let cursor = before ?? Number.POSITIVE_INFINITY;
  const segments = await segmentsOf(tx, schedule.id, cursor);
  for (const occurrences of chunked(occurrencesBackward(segments, cursor), probesAtOnce)) {
    const keys = occurrences.map((at) => ({ scheduleId: schedule.id, occurrence: new Date(at) }));
    const found = (await readJobsAt(tx, keys)).sort(
      (a, b) => b.occurrence.getTime() - a.occurrence.getTime(),
    );
    for (const job of found) {
      if (started && job.state === "waiting") continue;
      items.push(job);
      if (items.length === limit) return { items, next: job.occurrence.getTime() };
    }
    cursor = occurrences.at(-1) ?? cursor;
    probed += occurrences.length;
    if (probed >= probesMax) return { items, next: cursor };
  }
  const oldest = segments.at(-1);
  return segments.length < versionsMax || oldest === undefined ? { items } : { items, next: oldest.from + 1 };
}

/** Versions, newest first, each with the cadence it had and the time for which it counted; as many as a page may need. */
async function segmentsOf(tx: Tx, scheduleId: string, before: number): Promise<Segment[]> {
  const rows = await tx<(CadenceColumns & { held: boolean; changedAt: Date; reachedAt: Date })[]>`
    select v.held, v.changed_at as "changedAt", greatest(h.reached_at, h.watermark_at) as "reachedAt", spec.once_at as "onceAt",
      spec.first_at as "firstAt", spec.every_ms as "everyMs", spec.cadence_id as "cadenceId", c.expression, c.timezone
    from carillon.schedule_versions v
    join carillon.schedules s on s.id = v.schedule_id
    join carillon.shards h on h.id = s.shard
    join carillon.schedule_versions spec on spec.schedule_id = v.schedule_id and spec.version = v.spec_version
    left join carillon.cadences c on c.id = spec.cadence_id
    where v.schedule_id = ${scheduleId}
      ${before < lastInstant ? tx`and v.changed_at < ${new Date(Math.max(0, before) + earliestMs)}` : tx``}
    order by v.version desc limit ${versionsMax}`;
  return rows.map((row, index) => ({
    held: row.held,
    from: row.changedAt.getTime(),
    to: rows[index - 1]?.changedAt.getTime() ?? row.reachedAt.getTime(),
    cadence: cadenceOf(row),
  }));
}

function* occurrencesBackward(segments: readonly Segment[], before: number): Generator<number> {
  const early = earlyRuns(segments, before);
  for (const at of occurrencesWithin(segments, before)) {
    while (early[0] !== undefined && early[0] >= at) {
      const next = early.shift();
      if (next !== undefined && next > at) yield next;
    }
    yield at;
  }
  yield* early;
}

/** An `at` may lie a little before the version that names it, among the occurrences of the one before. Newest first. */
function earlyRuns(segments: readonly Segment[], before: number): number[] {
  const instants = segments.flatMap(({ from, cadence }) =>
    cadence.kind === "once" && cadence.at <= from && cadence.at < before ? [cadence.at] : [],
  );
  return [...new Set(instants)].sort((a, b) => b - a);
}

function* occurrencesWithin(segments: readonly Segment[], before: number): Generator<number> {
  for (const { from, to, cadence, held } of segments) {
    let left = held ? heldProbesMax : Number.POSITIVE_INFINITY;
    let at = newestIn(cadence, Math.min(to + 1, before));
    for (; at !== null && at > from && left > 0; at = previousBefore(cadence, at), left--) yield at;
  }
}

function newestIn(cadence: Cadence, before: number): number | null {
  return Number.isFinite(before) ? previousBefore(cadence, before) : null;
}

function* chunked(values: Iterable<number>, size: number): Generator<number[]> {
  let chunk: number[] = [];
  for (const value of values) {
    chunk.push(value);
    if (chunk.length === size) {
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length > 0) yield chunk;
}
