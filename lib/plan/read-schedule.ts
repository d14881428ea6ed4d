import { type Cadence, nextAfter, previousBefore } from "../cadence/cadence.ts";
import { normalForm } from "../cadence/normal-form.ts";
import type { Tx } from "../db/connect.ts";
import { type JobRead, readJobsAt } from "../job/read-job.ts";
import { Refusal } from "../refusal.ts";
import { type Hold, holdsOf } from "../schedule/holds.ts";
import type { ScheduleBody } from "../schedule/schedule-body.ts";
import {
  findSchedule,
  findScheduleById,
  type ScheduleSearch,
  type StoredSchedule,
  searchSchedules,
} from "../schedule/stored-schedule.ts";
import { jobsOf } from "./job-history.ts";

export type ScheduleState = "active" | "paused" | "ended";

/** A schedule as it is read back. */
export interface ScheduleRead {
  id: string;
  key: string;
  state: ScheduleState;
  version: number;
  body: ScheduleBody;
  /** The cadence in its normal form. */
  cadence: string;
  nextAt: Date | null;
  holds: Hold[];
  checks: number;
  warnings: string[];
  createdAt: Date;
  createdBy: string;
  updatedAt: Date;
  updatedBy: string;
  lastJob?: JobRead | null;
}

export async function readScheduleById(tx: Tx, id: string): Promise<ScheduleRead> {
  const stored = await findScheduleById(tx, id);
  const [read] = stored === null ? [] : await readStored(tx, [stored]);
  if (read === undefined) throw new Error(`Schedule ${id} is gone from the table.`);
  return read;
}

/** One schedule, with its newest job. */
export async function readSchedule(tx: Tx, key: string): Promise<ScheduleRead | null> {
  const stored = await findSchedule(tx, key);
  if (stored === null) return null;
  const [read] = await readStored(tx, [stored]);
  const [lastJob = null] = (await jobsOf(tx, stored, { limit: 1, started: true })).items;
  return read === undefined ? null : { ...read, lastJob };
}

export interface ScheduleFilter extends Omit<ScheduleSearch, "held"> {
  state?: ScheduleState | undefined;
}

/** How many pages a search by state looks at before it answers with what it has and where to go on. */
const searchedPagesMax = 20;

export async function listSchedules(
  tx: Tx,
  { state, ...search }: ScheduleFilter,
): Promise<{ items: ScheduleRead[]; next?: string }> {
  const items: ScheduleRead[] = [];
  let after = search.after;
  for (let page = 0; page < searchedPagesMax; page++) {
    const held = state === undefined ? undefined : state === "paused";
    const found = await searchSchedules(tx, { ...search, held, after, limit: search.limit + 1 });
    const read = await readStored(tx, found.slice(0, search.limit));
    for (const each of read) {
      after = each.key;
      if (state === undefined || each.state === state) items.push(each);
      if (items.length === search.limit) break;
    }
    const exhausted = found.length <= search.limit && after === found.at(-1)?.key;
    if (exhausted || found.length === 0) return { items };
    if (items.length === search.limit) break;
  }
  return { items, ...(after === undefined ? {} : { next: after }) };
}

/** The coming occurrences, strictly after `from` (default: now). */
export async function nextOccurrences(
  tx: Tx,
  { key, n, from }: { key: string; n: number; from?: number | undefined },
): Promise<number[]> {
  const stored = await findSchedule(tx, key);
  if (stored === null) throw new Refusal("missing", `There is no schedule ${key}.`);
  const after = from ?? (await clock(tx)).getTime();
  const occurrences: number[] = [];
  for (
    let at = nextAfter(stored.cadence, after);
    at !== null && occurrences.length < n;
    at = nextAfter(stored.cadence, at)
  ) {
    occurrences.push(at);
  }
  return occurrences;
}

async function readStored(tx: Tx, stored: readonly StoredSchedule[]): Promise<ScheduleRead[]> {
  if (stored.length === 0) return [];
  const now = (await clock(tx)).getTime();
  const holds = await holdsOf(
    tx,
    stored.map(({ id }) => id),
  );
  const depth = stored.length === 1 ? backlogLookedAt : 1;
  const due = stored.flatMap(({ id, cadence }) =>
    newestUpTo(cadence, now, depth).map((at) => ({ scheduleId: id, occurrence: new Date(at) })),
  );
  const jobs = Map.groupBy(await readJobsAt(tx, due), ({ scheduleId }) => scheduleId);
  const planned = await watermarks(tx);
  return stored.map((schedule) => {
    const { cadence, cadenceId: _, specVersion: __, shard, heldSince, ...head } = schedule;
    const pending = (planned.get(shard) ?? now) < now;
    const { nextAt, ended } = whatIsNext(cadence, now, jobs.get(schedule.id) ?? [], pending);
    const state = heldSince !== null ? "paused" : ended ? "ended" : "active";
    return {
      ...head,
      state,
      cadence: normalForm(cadence),
      nextAt: state === "active" && nextAt !== null ? new Date(nextAt) : null,
      holds: holds.get(schedule.id) ?? [],
      checks: 0,
      warnings: [],
    };
  });
}

/** How many due occurrences the reading of one schedule looks at for the oldest that waits; a list looks at the newest. */
const backlogLookedAt = 30;

function newestUpTo(cadence: Cadence, now: number, count: number): number[] {
  const instants: number[] = [];
  let at = previousBefore(cadence, now + 1);
  for (; at !== null && instants.length < count; at = previousBefore(cadence, at)) instants.push(at);
  return instants;
}

/** The next occurrence that has not started: the oldest that is due and whose job still waits, or the first to come. */
function whatIsNext(
  cadence: Cadence,
  now: number,
  due: readonly JobRead[],
  pending: boolean,
): { nextAt: number | null; ended: boolean } {
  const coming = nextAfter(cadence, now);
  const byAge = due.toSorted((a, b) => a.occurrence.getTime() - b.occurrence.getTime());
  const waiting = byAge.find(({ state }) => state === "waiting");
  if (waiting !== undefined) return { nextAt: waiting.occurrence.getTime(), ended: false };
  const latest = byAge.at(-1);
  if (coming !== null) return { nextAt: coming, ended: false };
  const unsettled = latest?.state === "running" || latest?.state === "retrying";
  const unplanned = latest === undefined && pending && cadence.kind === "once";
  return { nextAt: unplanned ? cadence.at : null, ended: !unsettled && !unplanned };
}

async function watermarks(tx: Tx): Promise<Map<number, number>> {
  const rows = await tx<{ id: number; at: Date }[]>`select id, watermark_at as at from carillon.shards`;
  return new Map(rows.map(({ id, at }) => [id, at.getTime()]));
}

async function clock(tx: Tx): Promise<Date> {
  const [row] = await tx<{ now: Date }[]>`select carillon.clock() as now`;
  if (row === undefined) throw new Error("The database did not tell the time.");
  return row.now;
}
