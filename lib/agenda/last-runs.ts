import { isRun } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { keptFromOf } from "../explain/facts.ts";
import type { Outcome } from "../explain/verdict.ts";
import { occurrencesBackward } from "../history/job-history.ts";
import { type JobRead, readJobsAt } from "../job/read-job.ts";
import { plannedUpTo, readShards, stateOf } from "../plan/shard.ts";
import { isDueUnderHold } from "../schedule/held.ts";
import { dueAt } from "../schedule/stored/timetable.ts";
import { type PlannedSegment, plannedSegments } from "./planned-segments.ts";
import { whyAbsent } from "./why-absent.ts";
import { outcomeOf } from "./window.ts";
import { withinLimit } from "./within-limit.ts";
import { withoutEnded } from "./without-ended.ts";

/** The most keys of one request, and the most occurrences of each. */
export const lastRunsMax = { keys: 100, occurrences: 20 };

export interface LastRun {
  occurrence: Date;
  outcome: Outcome;
  reason: string | null;
  job: JobRead | null;
}

export interface LastRuns {
  key: string;
  /** Null if no schedule has or had the key. */
  scheduleId: string | null;
  deleted: { at: Date; by: string } | null;
  /** Oldest first. */
  runs: LastRun[];
}

/**
 * The newest occurrences of many schedules that are not later than now, in the order of the keys. The
 * same few statements read them all, except for the limits of runs that are not planned yet. Of a key without a schedule, those of the one that had
 * it last.
 */
export async function readLastRuns(
  tx: Tx,
  { keys, most }: { keys: readonly string[]; most: number },
): Promise<{ asOf: Date; items: LastRuns[] }> {
  const asOf = await databaseClock(tx);
  const heads = new Map((await headsOf(tx, keys)).map((head) => [head.key, head]));
  const states = await readShards(tx);
  const all = [...heads.values()];
  const recorded = await withoutEnded(tx, await plannedSegments(tx, all, asOf), all, states);
  const segments = await withinLimit(tx, recorded, all, states);
  const sought = all.map((head) => ({
    head,
    instants: instantsOf(head, segments.get(head.id) ?? [], asOf.getTime(), most),
  }));
  const found = await readJobsAt(
    tx,
    sought.flatMap(({ head, instants }) =>
      instants.map((at) => ({ scheduleId: head.id, occurrence: new Date(at) })),
    ),
  );
  const jobs = Map.groupBy(found, ({ scheduleId }) => scheduleId);
  const made = new Set(found.map(({ scheduleId, occurrence }) => `${scheduleId}-${occurrence.getTime()}`));
  const absent = sought.flatMap(({ head: { id }, instants }) =>
    instants
      .filter((at) => !made.has(`${id}-${at}`))
      .map((at) => ({ scheduleId: id, occurrence: new Date(at) })),
  );
  const reasons = await whyAbsent(tx, absent);
  const keptFrom = (await keptFromOf(tx)).getTime();
  const runs = new Map(
    sought.map(({ head, instants }) => {
      const facts: Facts = {
        head,
        now: asOf.getTime(),
        plannedUpTo: plannedUpTo(stateOf(states, head.shard), head.id).getTime(),
        keptFrom,
        segments: segments.get(head.id) ?? [],
        jobs: jobs.get(head.id) ?? [],
        whyAbsent: (at) => reasons.get(`${head.id}-${at}`),
      };
      return [head.key, instants.map((at) => runAt(at, facts)).reverse()];
    }),
  );
  const items = keys.map((key) => {
    const head = heads.get(key);
    const deleted =
      head === undefined || head.deletedAt === null ? null : { at: head.deletedAt, by: head.updatedBy };
    return { key, scheduleId: head?.id ?? null, deleted, runs: runs.get(key) ?? [] };
  });
  return { asOf, items };
}

interface Head {
  id: string;
  key: string;
  shard: number;
  deletedAt: Date | null;
  /** Whether a move to another installation has deleted it. */
  isAway: boolean;
  /** The author of the last version, and so of the deletion. */
  updatedBy: string;
  heldSince: Date | null;
  heldUntil: Date | null;
  maxFires: number | null;
  fires: number | null;
}

/** The schedule of each key; if there is none, the last one that had it. */
async function headsOf(tx: Tx, keys: readonly string[]): Promise<Head[]> {
  const columns = tx`s.id, s.key, s.shard, s.deleted_at as "deletedAt", s.updated_by as "updatedBy", s.held_since as "heldSince", s.held_until as "heldUntil", s.max_fires as "maxFires", s.fires, s.version`;
  const rows = await tx<Head[]>`
    select coalesce(l.id, d.id) as id, k.key, coalesce(l.shard, d.shard) as shard, d."deletedAt", coalesce(l."updatedBy", d."updatedBy") as "updatedBy",
      l."heldSince", l."heldUntil", l."maxFires", l.fires,
      exists (
        select from carillon.audit a
        where a.schedule_id = d.id and a.version = d.version and a.action = 'schedule.deleted' and a.detail->'movedTo' is not null) as "isAway"
    from unnest(${[...keys]}::text[]) k (key)
    left join lateral (
      select ${columns} from carillon.schedules s where s.key = k.key and s.deleted_at is null limit 1) l on true
    left join lateral (
      select ${columns} from carillon.schedules s where l.id is null and s.key = k.key and s.deleted_at is not null
      order by s.key desc, s.deleted_at desc limit 1) d on true
    where l.id is not null or d.id is not null`;
  return [...rows];
}

/** Newest first. */
function instantsOf(
  { deletedAt }: Head,
  segments: readonly PlannedSegment[],
  now: number,
  most: number,
): number[] {
  const end = Math.min(now, deletedAt?.getTime() ?? now);
  const instants: number[] = [];
  for (const at of occurrencesBackward(segments, { at: end + 1, kind: null, n: 0 })) {
    instants.push(at);
    if (instants.length === most) break;
  }
  return instants;
}

interface Facts {
  head: Head;
  now: number;
  plannedUpTo: number;
  /** Jobs before this may have been dropped. */
  keptFrom: number;
  segments: readonly PlannedSegment[];
  jobs: readonly JobRead[];
  /** The reason of the range of passed-over occurrences that has it, or `backlog`. */
  whyAbsent: (at: number) => string | undefined;
}

function runAt(at: number, facts: Facts): LastRun {
  const { head, now, plannedUpTo: planned, keptFrom, segments, jobs } = facts;
  const occurrence = new Date(at);
  const segment = segments.find(({ from, to }) => at > from && at <= to);
  const lag = (segment ?? segments[0])?.lag;
  const due = lag === undefined ? at : dueAt(lag, at);
  const job = jobs.find((each) => each.occurrence.getTime() === at);
  if (job !== undefined)
    return { occurrence, outcome: outcomeOf(job, { now, held: head }), reason: job.reason, job };
  const none = (outcome: Outcome, reason: string | null = null) => ({
    occurrence,
    outcome,
    reason,
    job: null,
  });
  const reason = facts.whyAbsent(at);
  if (reason !== undefined) return reason === "backlog" ? none("backlog") : none("skipped", reason);
  if (segment !== undefined && isLeftOut(segment.cadence, at)) return none("skipped", "calendar");
  if (at < keptFrom) return none("too-old");
  if (head.deletedAt !== null && due > head.deletedAt.getTime())
    return none(head.isAway ? "moved-away" : "deleted");
  // Also behind the end of a hold, as long as no tick has cleared it.
  if (isDueUnderHold(head, due)) return none("held");
  if (segments.some(({ from, to, held: isHeld }) => isHeld && due > from && due <= to))
    return none("skipped", "paused");
  if (due > now) return none("planned");
  return none(due > planned ? "not-planned-yet" : "unrecorded");
}

const isLeftOut = (cadence: Cadence, at: number) => !isRun(cadence, at);
