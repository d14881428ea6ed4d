import { unreadableReason } from "../cadence/cadence.ts";
import { withZones, type Zone } from "../cadence/zone/zone-spans.ts";
import type { Tx } from "../db/connect.ts";
import { conflicts, retrying } from "../db/retrying.ts";
import type { EditContext } from "../edit/apply-edit.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { type ReplanDecision, replan, replannedShown } from "../edit/replan.ts";
import { upcomingWith } from "../history/upcoming.ts";
import { withdrawAt } from "../job/withdraw.ts";
import { runLimitOf } from "../plan/fires-left.ts";
import { readShards, type ShardState } from "../plan/shard.ts";
import { blameOnceLocked, OfNoRow } from "../quarantine/in-halves.ts";
import { asideAmong, letGoUnlocked } from "../quarantine/quarantine.ts";
import { isHeldAt } from "../schedule/held.ts";
import { keptSpec } from "../schedule/resolve-spec.ts";
import { findSchedulesById, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { dueAt, timetableOf } from "../schedule/stored/timetable.ts";
import type { Spec } from "../schedule/stored/version-rows.ts";
import { noteZoneMove } from "./zone-data-moves.ts";
import { beginningAt, goesOn, only, type ZoneShift, zoneShift } from "./zone-data-shift.ts";
import {
  beginZoneRound,
  type EarlierRules,
  earlierRules,
  endFewRound,
  endZoneRound,
  moveZonePlace,
  nextInZones,
  type RoundDone,
  type ZonePage,
  type ZoneUpdate,
} from "./zone-data-updates.ts";

export interface ZoneReplanBounds {
  timeIsUp: () => boolean;
  /** Called for a schedule that fails. The others go on, and the next round retries it. */
  failed: (scheduleId: string, error: unknown) => Promise<void>;
}

const consumer = "zone-replan";

/**
 * `left`: shards whose lock was not granted. Their other schedules are skipped until the next
 * round, since each would wait for the lock as long again.
 */
interface Bounds extends ZoneReplanBounds {
  left: Set<number>;
}

/**
 * Schedules checked in one step; most are in no zone that differs. `readMax` of the others are read
 * together.
 */
const pageMax = 2_000;
const readMax = 100;

/** The most schedules of one team that a call reads in the first round. */
const fewMax = 100;

/**
 * Continues through all schedules for an update of the zone data, until none is left or time is up;
 * in the first round through a few of each team. It may be killed at any point and run twice at
 * once: a schedule planned by the current rules is left unchanged. Returns the update's counts when
 * its round has ended.
 */
export function replanForZones(
  deps: EditDeps,
  update: ZoneUpdate,
  bounds: ZoneReplanBounds,
): Promise<RoundDone | null> {
  return replanRound(deps, update, { ...bounds, left: new Set() });
}

async function replanRound(deps: EditDeps, update: ZoneUpdate, bounds: Bounds): Promise<RoundDone | null> {
  const place = await beginZoneRound(deps.sql, update);
  if (place === null) return null;
  const earlier = await earlierRules(deps.sql, update);
  const end = await walk(deps, { update, earlier }, place, bounds);
  if (end === null) return null;
  if (!update.takesFew) return endZoneRound(deps.sql, update, end);
  const all = await endFewRound(deps.sql, update, end);
  return all === null ? null : replanRound(deps, all, bounds);
}

/** Returns the last schedule; null if time is up, or if another tick is replanning too. */
async function walk(
  deps: EditDeps,
  { update, earlier }: Omit<Some, "ids">,
  place: string,
  bounds: Bounds,
): Promise<string | null> {
  let after = place;
  const had = new Map<number, number>();
  while (!bounds.timeIsUp()) {
    const { last, ...page } = await nextInZones(deps.sql, update, after, pageMax);
    if (last === null) return after;
    const concerned = update.takesFew ? fewOf(page, had) : page.concerned;
    for (let from = 0; from <= concerned.length; from += readMax) {
      if (bounds.timeIsUp()) return null;
      const ids = concerned.slice(from, from + readMax);
      const to = from + readMax > concerned.length ? last : (ids.at(-1) ?? last);
      const done = await replanSome(deps, { update, earlier, ids }, bounds);
      if (done === "time is up") return null;
      const next = { from: after, to, checked: ids.length, failed: done === "failed" };
      // Another tick is replanning for the same update, and one is enough.
      if (!(await moveZonePlace(deps.sql, update, next))) return null;
      after = to;
    }
  }
  return null;
}

/** The schedules of a page without those of teams that had many before; `had` counts them. */
function fewOf({ concerned, teams }: Omit<ZonePage, "last">, had: Map<number, number>): string[] {
  return concerned.filter((_, index) => {
    const team = teams[index] ?? 0;
    const before = had.get(team) ?? 0;
    had.set(team, before + 1);
    return before < fewMax;
  });
}

interface Some {
  update: ZoneUpdate;
  earlier: readonly EarlierRules[];
  ids: readonly string[];
}

/** Schedules replanned concurrently. */
const concurrency = 2;

/**
 * Replans those of some schedules that follow earlier rules. Most no longer do, which shows without
 * a lock.
 */
async function replanSome(
  deps: EditDeps,
  { update, earlier, ids }: Some,
  { timeIsUp, failed, left }: Bounds,
): Promise<"through" | "failed" | "time is up"> {
  if (ids.length === 0) return "through";
  const shards = await readShards(deps.sql);
  const aside = await asideAmong(deps.sql, consumer, ids);
  const schedules = (await findSchedulesById(deps.sql, ids)).values();
  const tryOne = async (schedule: StoredSchedule, waiting: { waits: boolean } | undefined) => {
    if (waiting?.waits === true || left.has(schedule.shard)) return false;
    try {
      await replanOne(deps, schedule, shards.get(schedule.shard), { update, earlier });
      if (waiting !== undefined) await letGoUnlocked(deps.sql, consumer, [schedule.id]);
      return true;
    } catch (error) {
      if (error instanceof OfNoRow) left.add(schedule.shard);
      await failed(schedule.id, error);
      return false;
    }
  };
  let end: "through" | "failed" | "time is up" = "through";
  const runner = async () => {
    for (const schedule of schedules) {
      if (timeIsUp()) {
        end = "time is up";
        return;
      }
      const isDone = await tryOne(schedule, aside.get(schedule.id));
      if (!isDone && end === "through") end = "failed";
    }
  };
  await Promise.all(Array.from({ length: concurrency }, runner));
  return end;
}

async function replanOne(
  deps: EditDeps,
  schedule: StoredSchedule,
  state: ShardState | undefined,
  { update, earlier }: Omit<Some, "ids">,
): Promise<void> {
  if (state === undefined) throw new Error(`Shard ${schedule.shard} does not exist in carillon.shards.`);
  const zones = zonesBefore(schedule, earlier);
  const reason = zones.length === 0 ? null : unreadableReason(schedule.cadence);
  if (reason !== null) throw new Error(reason);
  if (zones.every(({ zone }) => zoneShift(schedule, state, zone) === null)) return;
  const author = { name: "carillon" };
  await blameOnceLocked((noteLocked) =>
    retrying(conflicts, () =>
      replan(deps, schedule, (tx, context) => byRulesInForce(tx, context, update, zones), {
        author,
        noteLocked,
      }),
    ),
  );
}

interface ZoneBefore {
  version: string;
  zone: Zone;
}

/** The earlier rules by which a schedule may be planned. */
function zonesBefore({ body: { timezone } }: StoredSchedule, earlier: readonly EarlierRules[]): ZoneBefore[] {
  return earlier.flatMap(({ version, zones }) => {
    const zone = zones.get(timezone);
    return zone === undefined ? [] : [{ version, zone }];
  });
}

async function byRulesInForce(
  tx: Tx,
  { current, state }: EditContext,
  update: ZoneUpdate,
  zones: readonly ZoneBefore[],
): Promise<ReplanDecision> {
  for (const { version, zone } of zones) {
    const shift = zoneShift(current, state, zone);
    if (shift === null) continue;
    const isPlannedBefore = await followsEarlier(tx, current, state, shift);
    const plan = await planOn(tx, current, state, { shift, zone, isPlannedBefore });
    if (plan === null) continue;
    const { timezone } = current.body;
    const gone = shift.gone.map((at) => new Date(at));
    const limit = await runLimitOf(tx, current, state.now);
    const shown = Math.min(replannedShown, limit?.left ?? replannedShown);
    await withdrawAt(tx, current.id, gone, state.now);
    return {
      ...plan,
      detail: { timezone, zoneData: { from: version, to: update.version } },
      before: withZones(only(current, zone), () => upcomingWith(current, state.now, shown)),
      note: (replanned) => noteZoneMove(tx, update, { ...replanned, scheduleId: current.id, timezone }),
    };
  }
  return null;
}

/**
 * Whether a schedule is still planned by the earlier rules. It is if its plan row or a waiting job
 * has an instant that only they give, or if a job that only the current rules give is missing.
 * Otherwise a function with the current rules has fired or edited it since.
 */
async function followsEarlier(
  tx: Tx,
  { id, shard, version, cadence, key, body, fires }: StoredSchedule,
  { now }: ShardState,
  { gone, missing }: ZoneShift,
): Promise<boolean> {
  const timetable = timetableOf({ key, cadence, body, fires });
  const dates = (instants: readonly number[]) => tx.array(instants.map((at) => new Date(at)));
  const occurrences = dates(gone);
  const dues = dates(gone.map((at) => dueAt(timetable, at)));
  const own = tx`shard = ${shard} and due_at = any(${dues}::timestamptz[]) and schedule_id = ${id} and version = ${version}
    and occurrence = any(${occurrences}::timestamptz[])`;
  const [row] = await tx<{ earlier: boolean; made: number }[]>`
    select exists (select from carillon.plan where ${own}) or exists (select from carillon.plan_far where ${own})
        or exists (select from carillon.jobs where occurrence = any(${occurrences}::timestamptz[]) and schedule_id = ${id}
          and kind = 'cadence' and n = 0 and version = ${version} and due_at > ${now} and state = 'waiting') as earlier,
      (select count(*)::int from carillon.jobs where occurrence = any(${dates(missing)}::timestamptz[]) and schedule_id = ${id}
        and kind = 'cadence' and n = 0) as made`;
  return row?.earlier === true || (row?.made ?? 0) < missing.length;
}

/** How to plan the schedule again; null if everything follows the current rules. */
async function planOn(
  tx: Tx,
  current: StoredSchedule,
  { now }: ShardState,
  { shift, zone, isPlannedBefore }: { shift: ZoneShift; zone: Zone; isPlannedBefore: boolean },
): Promise<{ spec?: Spec; from?: number } | null> {
  const withCadence = (cadence: Spec["cadence"]) => ({
    spec: { ...keptSpec(current, current.body, now), cadence },
  });
  if (shift.cadence !== null) return withCadence(shift.cadence);
  const plain = isPlannedBefore ? {} : null;
  const on = isHeldAt(current, now.getTime()) ? null : goesOn(current, now, zone);
  if (on === null) return plain;
  if (on.kind === "repeated") {
    return (await hasJob(tx, current, on.ran)) ? withCadence(beginningAt(current.cadence, on.from)) : plain;
  }
  // By the earlier rules another wall time may have run at that instant.
  return isPlannedBefore && !(await hasJob(tx, current, on.run)) ? { from: on.run } : plain;
}

async function hasJob(tx: Tx, { id }: StoredSchedule, at: number): Promise<boolean> {
  const rows = await tx`
    select from carillon.jobs where occurrence = ${new Date(at)} and schedule_id = ${id} and kind = 'cadence' and n = 0`;
  return rows.length > 0;
}
