import { nextRunAfter, previousRunBefore, unreadableReason } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import { normalForm } from "../cadence/normal-form.ts";
import type { Tx } from "../db/connect.ts";
import { type JobRead, readJobsAt } from "../job/read-job.ts";
import { isSetAside, owedOf } from "../plan/aside.ts";
import { oldestOwed } from "../plan/backlog.ts";
import { counted } from "../plan/unfolding-time.ts";
import { isHeldAt } from "../schedule/held.ts";
import { type Hold, holdsOf } from "../schedule/holds.ts";
import { missingSchedule } from "../schedule/moved-away.ts";
import { wordsOf } from "../schedule/resolve-spec.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { findSchedule, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { orUnread } from "../schedule/stored/stored-spec.ts";
import { occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";
import { jobsOf } from "./job-history.ts";
import { type Rechecks, rechecksOf } from "./rechecks.ts";

export type ScheduleState = "active" | "paused" | "ended";

/** A schedule as the API shows it. */
export interface ScheduleRead {
  id: string;
  key: string;
  state: ScheduleState;
  version: number;
  body: ScheduleBody;
  /** The cadence in its normal form; `cadenceText` has it in plain English. */
  cadence: string;
  cadenceText: string;
  nextAt: Date | null;
  holds: Hold[];
  /** How many rechecks in a row the newest run has led to. */
  checks: number;
  warnings: string[];
  /** Why the stored schedule is unreadable; null if it is readable. */
  unreadable: string | null;
  createdAt: Date;
  createdBy: string;
  updatedAt: Date;
  updatedBy: string;
  /** The cadence's job of the newest occurrence that is due. */
  lastDue: JobRead | null;
  lastJob?: JobRead | null;
}

/** One schedule, with its newest job. */
export async function readSchedule(tx: Tx, key: string): Promise<ScheduleRead | null> {
  const stored = await findSchedule(tx, key);
  if (stored === null) return null;
  const facts = await factsOf(tx, [stored]);
  const [read] = await readStored(tx, [stored], { depth: backlogLookedAt, facts });
  // A calendar's day off, or a cancelled run, has its job before its time.
  const before = { at: facts.now.getTime() + 1, kind: null, n: 0 };
  const [lastJob = null] = (await jobsOf(tx, stored, { limit: 1, before, started: true })).items;
  return read === undefined ? null : { ...read, lastJob };
}

/** As `readSchedule`, and throws a Refusal where there is none. */
export async function readKnownSchedule(tx: Tx, key: string): Promise<ScheduleRead> {
  const schedule = await readSchedule(tx, key);
  if (schedule === null) throw await missingSchedule(tx, key);
  return schedule;
}

/** Facts about schedules that are not in their rows. */
type Facts = Awaited<ReturnType<typeof factsOf>>;

/** Queries are sent together, in one round trip. */
export async function factsOf(tx: Tx, schedules: readonly Pick<StoredSchedule, "id" | "shard">[]) {
  const ids = schedules.map(({ id }) => id);
  const [moment, holds, owed] = await Promise.all([
    shardsNow(
      tx,
      schedules.map(({ shard }) => shard),
    ),
    holdsOf(tx, ids),
    oldestOwed(tx, ids),
  ]);
  return { ...moment, holds, owed };
}

/**
 * `depth`: how many due occurrences are checked for the oldest that waits. `facts`: given if they
 * were read together with the schedules.
 */
export async function readStored(
  tx: Tx,
  stored: readonly StoredSchedule[],
  { depth = 1, facts }: { depth?: number; facts?: Facts } = {},
): Promise<ScheduleRead[]> {
  if (stored.length === 0) return [];
  const { now, shards, holds, owed } = facts ?? (await factsOf(tx, stored));
  const probes = stored.map((each) =>
    counted(() =>
      orUnread(each, (schedule) => probesOf(schedule, now.getTime(), depth, shards.get(schedule.shard))),
    ),
  );
  const due = probes.flatMap(({ id, instants }) =>
    instants.map((at) => ({ scheduleId: id, occurrence: new Date(at) })),
  );
  const jobs = Map.groupBy(await readJobsAt(tx, due), ({ scheduleId }) => scheduleId);
  // Only handlers request rechecks.
  const handled = stored.filter(({ body }) => "handler" in body.target).map(({ id }) => id);
  const rechecks = handled.length === 0 ? new Map<string, Rechecks>() : await rechecksOf(tx, handled, now);
  return stored.map((each) => {
    const beside = {
      now,
      pending: (shards.get(each.shard)?.watermarkAt ?? now) < now,
      own: jobs.get(each.id) ?? [],
      owed: owed.get(each.id) ?? null,
      checking: rechecks.get(each.id) ?? null,
      holds: holds.get(each.id) ?? [],
    };
    return counted(() => orUnread(each, (schedule) => scheduleRead(schedule, beside)));
  });
}

/** Facts of one schedule, which one statement reads for the whole page. */
interface Beside {
  now: Date;
  /** The ticks of its shard lag behind. */
  pending: boolean;
  own: readonly JobRead[];
  owed: Date | null;
  checking: Rechecks | null;
  holds: readonly Hold[];
}

function scheduleRead(
  schedule: StoredSchedule,
  { now, pending, own, owed, checking, holds }: Beside,
): ScheduleRead {
  const {
    cadence,
    cadenceId: _,
    specVersion: __,
    shard: ___,
    heldSince: ____,
    heldUntil: _____,
    fires: ______,
    lastVersion: _______,
    versionsFault: ________,
    unread,
    ...head
  } = schedule;
  const cadenced = nextOccurrence(schedule, now.getTime(), { jobs: own, owed, pending });
  const nextAt = earlier(cadenced.nextAt, checking?.nextAt?.getTime() ?? null);
  const ended = cadenced.ended && checking?.unsettled !== true;
  const state = isHeldAt(schedule, now.getTime()) ? "paused" : ended ? "ended" : "active";
  const normal = normalForm(cadence);
  return {
    ...head,
    state,
    cadence: normal,
    ...(unread === null ? wordsOf(schedule, now) : { cadenceText: normal, warnings: [] }),
    unreadable: unread ?? unreadableReason(cadence),
    nextAt: state === "active" && nextAt !== null ? new Date(nextAt) : null,
    holds: holds.filter(({ until }) => until === null || until > now),
    checks: checksAfter(own, checking),
    lastDue: newestDue(own, now),
  };
}

/**
 * How many due occurrences are checked for the oldest that waits when one schedule is read; a list
 * checks only the newest.
 */
const backlogLookedAt = 30;

/**
 * The occurrences whose jobs decide a schedule's state: the newest due ones and, if `maxFires` is
 * used up, also the coming ones that have jobs already.
 */
function probesOf(
  schedule: StoredSchedule,
  now: number,
  depth: number,
  shard: { reachedAt: Date } | undefined,
): { id: string; instants: number[] } {
  const timetable = timetableOf(schedule);
  const { cadence, firesLeft } = timetable;
  const upTo = occurrenceDueBy(timetable, now);
  const instants: number[] = [];
  let at = previousRunBefore(cadence, upTo + 1);
  for (; at !== null && instants.length < depth; at = previousRunBefore(cadence, at)) instants.push(at);
  const reached = firesLeft === 0 ? occurrenceDueBy(timetable, shard?.reachedAt.getTime() ?? now) : upTo;
  let ahead = nextRunAfter(cadence, upTo);
  for (; ahead !== null && ahead <= reached; ahead = nextRunAfter(cadence, ahead)) instants.push(ahead);
  return { id: schedule.id, instants };
}

/**
 * The next occurrence that has not started: the oldest whose job waits or that is still in the
 * backlog, else the first coming one.
 */
function nextOccurrence(
  schedule: StoredSchedule,
  now: number,
  { jobs, owed, pending }: { jobs: readonly JobRead[]; owed: Date | null; pending: boolean },
): { nextAt: number | null; ended: boolean } {
  const timetable = timetableOf(schedule);
  const byAge = jobs.toSorted((a, b) => a.occurrence.getTime() - b.occurrence.getTime());
  const waiting = byAge.find(({ state }) => state === "waiting")?.occurrence ?? null;
  const late = [waiting, owed].flatMap((at) => (at === null ? [] : [at.getTime()]));
  const passed = owedOf(schedule)[0]?.occurrence.getTime() ?? null;
  if (passed !== null) late.push(passed);
  if (late.length > 0) return { nextAt: Math.min(...late), ended: false };
  const coming =
    timetable.firesLeft === 0 ? null : nextRunAfter(timetable.cadence, occurrenceDueBy(timetable, now));
  if (coming !== null) return { nextAt: coming, ended: false };
  if (isSetAside(schedule)) return { nextAt: null, ended: false };
  const latest = byAge.at(-1);
  const unsettled = latest?.state === "running" || latest?.state === "retrying";
  const once = onceOf(schedule.cadence);
  const unplanned = latest === undefined && pending && once !== null;
  return { nextAt: unplanned ? once : null, ended: !unsettled && !unplanned };
}

function newestDue(jobs: readonly JobRead[], now: Date): JobRead | null {
  const due = jobs.filter(({ dueAt }) => dueAt <= now);
  return due.sort((a, b) => b.occurrence.getTime() - a.occurrence.getTime())[0] ?? null;
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

/**
 * Counts the rechecks since the newest cadence run; a later run that requested none resets the
 * count.
 */
function checksAfter(jobs: readonly JobRead[], rechecks: Rechecks | null): number {
  const since = rechecks?.since ?? null;
  if (rechecks === null || since === null) return 0;
  const started = jobs.some(({ startedAt, occurrence }) => startedAt !== null && occurrence > since);
  return started ? 0 : rechecks.checks;
}

function onceOf(cadence: Cadence): number | null {
  if (cadence.kind === "window") return onceOf(cadence.of);
  return cadence.kind === "once" ? cadence.at : null;
}

async function shardsNow(
  tx: Tx,
  ids: readonly number[],
): Promise<{ now: Date; shards: Map<number, { watermarkAt: Date; reachedAt: Date }> }> {
  const rows = await tx<{ now: Date; id: number; watermarkAt: Date; reachedAt: Date }[]>`
    with clock as materialized (select carillon.clock() as now)
    select c.now, s.id, s.watermark_at as "watermarkAt", greatest(s.reached_at, s.watermark_at) as "reachedAt"
    from clock c cross join carillon.shards s where s.id = any(${[...new Set(ids)]}::int[])`;
  const [first] = rows;
  if (first === undefined) throw new Error(`Shard ${ids.join(", ")} does not exist in carillon.shards.`);
  return {
    now: first.now,
    shards: new Map(rows.map(({ id, watermarkAt, reachedAt }) => [id, { watermarkAt, reachedAt }])),
  };
}
