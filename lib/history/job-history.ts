import { previousBefore } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { byPlace, type JobPlace, placeBehind } from "../job/job-place.ts";
import { type JobRead, readJobsAt, readJobsBeside } from "../job/read-job.ts";
import { missingSchedule } from "../schedule/moved-away.ts";
import { findSchedule, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { earlyRuns, type Segment, segmentsBefore } from "./version-segments.ts";

const probesAtOnce = 250;
const probesMax = 5_000;

/**
 * The most occurrences of a pause that are looked up, from its end backwards. Cadence jobs exist
 * only near the end: those skipped one by one, those of the last two minutes, which run late, and
 * catch-up jobs.
 */
const heldProbesMax = 150;

/** The jobs of the schedule that has the key, newest first. */
export async function jobsOfKey(
  tx: Tx,
  { key, ...page }: { key: string; limit: number; before?: JobPlace | undefined },
): Promise<{ items: JobRead[]; next?: JobPlace }> {
  const schedule = await findSchedule(tx, key);
  if (schedule === null) throw await missingSchedule(tx, key);
  return jobsOf(tx, schedule, page);
}

/**
 * A schedule's jobs, newest first. Jobs have no index by schedule, which would nearly double the
 * cost of a job. Instead, each version gives its occurrences up to the start of the next version,
 * and the cadence's jobs are looked up by primary key, bounded per page. Other kinds of jobs have a
 * list of their own, which is merged in. A page may have fewer than `limit` items and still a
 * `next`.
 */
export async function jobsOf(
  tx: Tx,
  { id: scheduleId }: Pick<StoredSchedule, "id">,
  { limit, before, started = false }: { limit: number; before?: JobPlace | undefined; started?: boolean },
): Promise<{ items: JobRead[]; next?: JobPlace }> {
  const items: JobRead[] = [];
  let probed = 0;
  let place = before ?? null;
  const { segments, from } = await segmentsBefore(tx, scheduleId, place?.at ?? Number.POSITIVE_INFINITY);
  const take = async (occurrences: readonly number[], oldest: number | null) => {
    const left = limit - items.length;
    const [cadence, beside] = await Promise.all([
      readJobsAt(
        tx,
        occurrences.map((at) => ({ scheduleId, occurrence: new Date(at) })),
      ),
      readJobsBeside(tx, { scheduleId, from: oldest, before: place, limit: left, started }),
    ]);
    const found = [...cadence.filter(({ state }) => !started || state !== "waiting"), ...beside];
    items.push(...found.sort(byPlace).slice(0, left));
    const last = items.at(-1);
    return last !== undefined && items.length === limit ? placeBehind(last) : null;
  };
  for (const occurrences of chunked(occurrencesBackward(segments, place), probesAtOnce)) {
    const oldest = occurrences.at(-1) ?? null;
    const next = await take(occurrences, oldest);
    if (next !== null) return { items, next };
    if (oldest !== null) place = { at: oldest, kind: null, n: 0 };
    probed += occurrences.length;
    if (probed >= probesMax && place !== null) return { items, next: place };
  }
  const next = await take([], from);
  if (next !== null) return { items, next };
  return from === null ? { items } : { items, next: { at: from, kind: null, n: 0 } };
}

/** The occurrences, newest first, whose cadence jobs follow the place in the list. */
export function* occurrencesBackward(
  segments: readonly Segment[],
  place: JobPlace | null,
): Generator<number> {
  const isBeside = place !== null && place.kind !== null && place.kind !== "cadence";
  const before = place === null ? Number.POSITIVE_INFINITY : place.at + (isBeside ? 1 : 0);
  // An `at` may lie a little before the version that names it, among occurrences of the previous
  // version.
  const early = earlyRuns(segments).filter((at) => at < before);
  for (const at of occurrencesWithin(segments, before)) {
    for (let next = early.at(-1); next !== undefined && next >= at; next = early.at(-1)) {
      early.pop();
      if (next > at) yield next;
    }
    yield at;
  }
  yield* early.reverse();
}

function* occurrencesWithin(segments: readonly Segment[], before: number): Generator<number> {
  for (const { from, to, cadence, held, caughtUpMax } of segments) {
    let left = held ? heldProbesMax + caughtUpMax : Number.POSITIVE_INFINITY;
    // The newest version reaches as far as the ticks have planned, any other to the start of the
    // next.
    let at = previousBefore(cadence, Math.min(to + 1, before));
    for (; at !== null && at > from && left > 0; at = previousBefore(cadence, at), left--) yield at;
  }
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
