import type { Tx } from "../db/connect.ts";
import { runsForward, type Segment, segmentsWithin } from "../history/version-segments.ts";
import type { JobKey } from "../job/job-id.ts";
import { jobCounted, type LedgerRows } from "./ledger-sums.ts";
import { floorTo, type Range } from "./series-steps.ts";

/**
 * The most jobs that a page looks up one by one. For more, it covers fewer steps; one step may have
 * `stepMost`.
 */
const probesMost = 20_000;
const stepMost = 80_000;

/** The keys that jobs of some schedules can have in a range. */
export interface Probes {
  range: Range;
  ids: readonly string[];
  keys: JobKey[];
}

/**
 * Computes the occurrences that each schedule's versions had in the range, as the history of one
 * schedule does. The range is shortened from its beginning until they are few. Null if a schedule
 * has too many versions or jobs, so that walking through all jobs is cheaper.
 */
export async function probesOf(
  tx: Tx,
  ids: readonly string[],
  range: Range,
  stepMs: number,
): Promise<Probes | null> {
  const bounds = { from: range.from, to: range.to - 1 };
  const own = new Map<string, Segment[]>();
  for (const id of ids) {
    const { segments, upTo } = await segmentsWithin(tx, id, bounds);
    if (upTo < bounds.to) return null;
    own.set(id, segments);
  }
  for (let { from } = range; ; from = floorTo(stepMs, (from + range.to) / 2)) {
    const isOneStep = range.to - from <= stepMs;
    const most = isOneStep ? stepMost : probesMost;
    const part = { from, to: range.to };
    const keys = [...cadenceKeys(own, part, most), ...(await otherKeys(tx, ids, part, most))];
    if (keys.length <= most) return { range: part, ids, keys };
    if (isOneStep) return null;
  }
}

/** One more than `most` if there are more. */
function cadenceKeys(own: ReadonlyMap<string, Segment[]>, { from, to }: Range, most: number): JobKey[] {
  const keys: JobKey[] = [];
  for (const [scheduleId, segments] of own) {
    for (const at of runsForward(segments, from, to - 1)) {
      keys.push({ occurrence: new Date(at), scheduleId, kind: "cadence", n: 0 });
      if (keys.length > most) return keys;
    }
  }
  return keys;
}

function otherKeys(tx: Tx, ids: readonly string[], { from, to }: Range, most: number) {
  return tx<JobKey[]>`
    select b.occurrence, b.schedule_id as "scheduleId", b.kind, b.n from unnest(${[...ids]}::bigint[]) o (id)
    cross join lateral (
      select * from carillon.jobs_beside b
      where b.schedule_id = o.id and b.occurrence >= ${new Date(from)} and b.occurrence < ${new Date(to)}
      limit ${most + 1}::int) b
    limit ${most + 1}::int`;
}

/** The existing jobs of the keys, each found by its primary key, and the ranges of their schedules. */
export function probed(tx: Tx, { keys, ids, range }: Probes): LedgerRows {
  return {
    jobs: tx`
      select j.* from unnest(${tx.array(keys.map(({ occurrence }) => occurrence))}::timestamptz[], ${keys.map(({ scheduleId }) => scheduleId)}::bigint[],
        ${keys.map(({ kind }) => kind)}::text[]::carillon.job_kind[], ${keys.map(({ n }) => n)}::int[]) k (occurrence, schedule_id, kind, n)
      cross join lateral (
        select ${jobCounted(tx)} from carillon.jobs j
        where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n offset 0) j`,
    passed: tx`
      select p.to_at, p.reason, p.count from unnest(${[...ids]}::bigint[]) o (id)
      cross join lateral (
        select * from carillon.passed_over p
        where p.schedule_id = o.id and p.to_at >= ${new Date(range.from)} and p.to_at < ${new Date(range.to)} offset 0) p`,
  };
}
