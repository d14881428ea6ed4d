import { keepCanaries } from "../../canary/keep-canaries.ts";
import { sqlState } from "../../db/sql-state.ts";
import { applyWantedHolds } from "../../edit/wanted-holds.ts";
import { deleteEnded } from "../../job-control/delete-ended.ts";
import { keepSetting } from "../../lifecycle/outbox.ts";
import { handOver } from "../../parcel/hand-over.ts";
import { offerNext, sweep, sweepMax, watchedLeases } from "../../parcel/sweep.ts";
import { dropDays } from "../../retention/drop-days.ts";
import { purge } from "../../retention/purge.ts";
import { rememberReach } from "../database-reach.ts";
import { attachDays, shardsToBringNear } from "../days.ts";
import { raiseIdleLines } from "../fire/idle-shards.ts";
import { retryPlans } from "../fire/retry-plans.ts";
import { type Before, isDue, pendingAfterFiring, pendingBeforeFiring, type Work } from "../pending-work.ts";
import type { Run } from "../run.ts";
import { shardsOf } from "../share.ts";
import { admitBacklog } from "./admit-backlog.ts";
import { finishInbox } from "./apply-inbox.ts";
import { bringAllNear } from "./bring-near.ts";
import { clearHolds } from "./clear-ended-holds.ts";
import { assignTeams, recountUsage } from "./count-teams.ts";
import { finishSharedHolds } from "./finish-shared-holds.ts";
import { followHandlers } from "./follow-handlers.ts";
import { forgetAnswers } from "./forget-answers.ts";
import { forgetAside } from "./forget-aside.ts";
import { forgetCommands } from "./forget-commands.ts";
import { nameTargets } from "./name-targets.ts";
import { noteTick } from "./note-tick.ts";
import { reclaimCadences } from "./reclaim-cadences.ts";
import { reclaimPulseTargets } from "./reclaim-pulse-targets.ts";
import { reclaimTargets } from "./reclaim-targets.ts";
import { replanCalendars } from "./replan-calendars.ts";
import { replanZones } from "./replan-zones.ts";
import { rollUp } from "./roll-up.ts";
import { type Part, sliceMs, takeTurns } from "./take-turns.ts";
import { tellEvents } from "./tell-events.ts";

/**
 * Which days are attached: those from yesterday on (`now`), and all back to the oldest watermark
 * (`past`).
 */
export interface DaysThere {
  now: boolean;
  past: boolean;
}

/** The check before firing. Returns the shards that must be prepared, usually none. */
export async function prepare({
  sql,
  settings,
  reach,
  note,
}: Run): Promise<Pick<Before, "now" | "behind" | "past">> {
  const there = await pendingBeforeFiring(sql).catch((error: unknown) => {
    rememberReach(reach, error);
    note(error);
    const own = shardsOf(settings.share);
    return { now: null, behind: own, past: own, countedEmpty: true };
  });
  // These counts are forgotten before the tick plans its statements by them.
  if (there.countedEmpty) await sql`select carillon.forget_queue_sizes()`.catch(note);
  return there;
}

/** Attaches days, and returns which are attached. */
export async function attach(run: Run): Promise<DaysThere> {
  const there = { now: false, past: false };
  const onNow = () => {
    there.now = true;
  };
  try {
    there.past = await attachDays(run.sql, run.timeIsUp, onNow);
  } catch (error) {
    noteKept(run, error);
  }
  return there;
}

/** The work that waits until due occurrences have become jobs. */
export async function finish(
  whole: Run,
  { attached, began }: { attached: DaysThere; began: Date | null },
): Promise<void> {
  // Before the sweep, which sends messages again, and though no time may be left for other work.
  await noteTick(whole, began);
  const run = { ...whole, queue: { ...whole.queue, time: { isUp: whole.timeIsUp, mostMs: sliceMs } } };
  const found = await pendingAfterFiring(run.sql, run.settings).catch(run.note);
  await takeTurns(partsOf(run, attached), {
    ...run,
    isThere: (work) => !found || isDue(found, work),
    minute: found ? Math.floor(found.now.getTime() / 60_000) : 0,
    now: run.queue.timing.now,
  });
}

function partsOf(whole: Run, attached: DaysThere): Part<Work>[] {
  const { settings } = whole;
  const part = (of: Work | undefined, act: (run: Run) => Promise<unknown>, stirs?: "stirs"): Part<Work> => ({
    ...(of === undefined ? {} : { of }),
    ...(stirs === undefined ? {} : { stirs: true }),
    act: (timeIsUp) => act({ ...whole, timeIsUp }),
  });
  return [
    part("setting", ({ sql }) => keepSetting(sql, settings.notify)),
    part("canaries", (run) => keepCanaries(run, settings.canary)),
    // The inbox comes early, because callers wait for it, and an inbox command makes its due jobs
    // itself.
    part("inbox", (run) => finishInbox({ ...run, mustEnd: whole.timeIsUp }), "stirs"),
    part("plans", retryPlans, "stirs"),
    part("backlog", admitOwed, "stirs"),
    part("parcels", sweepAll, "stirs"),
    part("holds", clearHolds, "stirs"),
    part("wantedHolds", (run) => applyWantedHolds(run, run), "stirs"),
    part("near", (run) => bringLinesNear(run, attached, whole.timeIsUp)),
    part("pastDays", dropPast),
    part(undefined, purgePast),
    part("ended", (run) => deleteEnded(run, run), "stirs"),
    part("events", tellAll),
    part("sharedHolds", (run) => finishSharedHolds(run, run), "stirs"),
    part("handlers", (run) => followHandlers(run, run), "stirs"),
    part("targets", (run) => nameTargets(run, run.timeIsUp)),
    part("commands", (run) => forgetCommands(run, settings.retentionDays, run.timeIsUp)),
    part("cadences", (run) => reclaimCadences(run, run.timeIsUp)),
    part("unusedTargets", (run) => reclaimTargets(run, run.timeIsUp)),
    part("pulseTargets", (run) => reclaimPulseTargets(run, run.timeIsUp)),
    part("answers", (run) => forgetAnswers(run, run.timeIsUp)),
    part("calendars", (run) => replanCalendars(run, run), "stirs"),
    part("zones", (run) => replanZones(run, settings.zoneData, run), "stirs"),
    part("aside", ({ sql, timeIsUp }) => forgetAside(sql, timeIsUp)),
    part("teams", ({ sql, timeIsUp }) => assignTeams(sql, timeIsUp)),
    part("usage", recountUsage),
    // Runs even without new rows, because it sets the time that the counts show.
    part(undefined, rollUpTallies),
  ];
}

async function bringLinesNear(run: Run, attached: DaysThere, mustEnd: () => boolean): Promise<void> {
  if (!attached.now) return;
  const shards = (await shardsToBringNear(run.sql))
    .filter(({ behind }) => attached.past || !behind)
    .map(({ shard }) => shard);
  if (shards.length === 0) return;
  const raised = await raiseIdleLines(run.sql, shards);
  for (const shard of shards) if (!raised.has(shard)) await bringAllNear(run, shard, { mustEnd });
}

async function dropPast(run: Run): Promise<void> {
  const { log, settings, timeIsUp } = run;
  const params = { retentionDays: settings.retentionDays, archived: settings.archives };
  const dropped = await dropDays(run, params, { timeIsUp, note: (error) => noteKept(run, error) });
  if (dropped.length > 0) log.info("tick.days-dropped", { days: dropped.join(" ") });
}

async function purgePast(run: Run): Promise<void> {
  const { schedules, auditEntries } = await purge(run, run.settings, run);
  if (schedules + auditEntries > 0) run.log.info("tick.purged", { schedules, auditEntries });
}

/**
 * Logs a lock that attaching or dropping days did not get, which is no failure: they give up early,
 * and the next minute retries. Notes any other error.
 */
function noteKept({ log, note }: Run, error: unknown): void {
  const state = sqlState(error);
  if (state === "lock_timeout" || state === "deadlock") log.warn("tick.days-kept", { error: state });
  else note(error);
}

/** Makes backlog jobs, after the jobs that are due. */
async function admitOwed(run: Run): Promise<void> {
  const { sql, queue, settings, timeIsUp } = run;
  const backlog = { budget: settings.backlogBudget, perTurn: settings.backlogPerTurn };
  await handOver(sql, queue, await admitBacklog(run, backlog, timeIsUp));
}

async function sweepAll({ sql, queue, log, settings, timeIsUp }: Run): Promise<void> {
  await handOver(sql, queue, await watchedLeases(sql));
  for (let more = true; more && !timeIsUp(); ) {
    const swept = await sweep(sql, log, settings.notify, timeIsUp);
    const left = await handOver(sql, queue, swept.outgoing);
    await offerNext(sql, left);
    more = swept.looked === sweepMax || left.length > 0;
  }
}

/**
 * Sends events to the bus. This comes after everything that jobs wait for, so a bus that hangs
 * delays no job.
 */
async function tellAll({ sql, log, bus, timeIsUp }: Run): Promise<void> {
  if (bus !== undefined) await tellEvents({ sql, log, ...bus }, timeIsUp);
}

async function rollUpTallies(run: Run): Promise<void> {
  run.total.rolledUp = await rollUp(run, run.total.rolledUp);
}
