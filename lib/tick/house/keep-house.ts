import { keepCanaries } from "../../canary/keep-canaries.ts";
import { sqlState } from "../../db/sql-state.ts";
import { applyWantedHolds } from "../../edit/wanted-holds.ts";
import { deleteEnded } from "../../job-control/delete-ended.ts";
import { keepSetting } from "../../lifecycle/outbox.ts";
import { handOver } from "../../parcel/hand-over.ts";
import { offerNext, sweep, sweepMax, watchedLeases } from "../../parcel/sweep.ts";
import { dropDays } from "../../retention/drop-days.ts";
import { purge } from "../../retention/purge.ts";
import { attachDays, shardsToBringNear } from "../days.ts";
import { raiseIdleLines } from "../fire/idle-shards.ts";
import { retryPlans } from "../fire/retry-plans.ts";
import { type Before, lookAfter, lookBefore, type Work } from "../look.ts";
import type { Run } from "../run.ts";
import { shardsOf } from "../share.ts";
import { admitBacklog } from "./admit-backlog.ts";
import { finishInbox } from "./apply-inbox.ts";
import { bringAllNear } from "./bring-near.ts";
import { clearHolds } from "./clear-ended-holds.ts";
import { finishSharedHolds } from "./finish-shared-holds.ts";
import { followHandlers } from "./follow-handlers.ts";
import { forgetAnswers } from "./forget-answers.ts";
import { forgetAside } from "./forget-aside.ts";
import { forgetCommands } from "./forget-commands.ts";
import { nameTargets } from "./name-targets.ts";
import { reclaimCadences } from "./reclaim-cadences.ts";
import { reclaimTargets } from "./reclaim-targets.ts";
import { replanCalendars } from "./replan-calendars.ts";
import { replanZones } from "./replan-zones.ts";
import { rollUp } from "./roll-up.ts";
import { type Part, sliceMs, takeTurns } from "./take-turns.ts";
import { tellEvents } from "./tell-events.ts";

/** Which days are there: those from yesterday on, and all back to the oldest watermark. */
export interface DaysThere {
  now: boolean;
  past: boolean;
}

/** What firing cannot do without: a look. Says which shards have to be made ready, nearly always none. */
export async function prepare({ sql, settings, note }: Run): Promise<Pick<Before, "behind" | "past">> {
  const there = await lookBefore(sql).catch((error: unknown) => {
    note(error);
    const own = shardsOf(settings.share);
    return { behind: own, past: own, countedEmpty: true };
  });
  // Before anything is planned by them.
  if (there.countedEmpty) await sql`select carillon.forget_queue_sizes()`.catch(note);
  return there;
}

/** Makes the days ready. Returns which are there. */
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

/** What can wait until what is due now has become jobs. */
export async function finish(whole: Run, attached: DaysThere): Promise<void> {
  const run = { ...whole, queue: { ...whole.queue, time: { isUp: whole.timeIsUp, mostMs: sliceMs } } };
  const found = await lookAfter(run.sql, run.settings).catch(run.note);
  await takeTurns(partsOf(run, attached), {
    ...run,
    there: found?.there ?? null,
    minute: found?.minute ?? 0,
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
    // As early as can be: callers wait for it, and what is due by now is made by the command itself.
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
    part("answers", (run) => forgetAnswers(run, run.timeIsUp)),
    part("calendars", (run) => replanCalendars(run, run), "stirs"),
    part("zones", (run) => replanZones(run, settings.zoneData, run), "stirs"),
    part("aside", ({ sql, timeIsUp }) => forgetAside(sql, timeIsUp)),
    // Also where there is nothing to add: by it the counts say of when they are.
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

/** Attaching and dropping give up quickly where another transaction has a lock: the next minute tries again. */
function noteKept({ log, note }: Run, error: unknown): void {
  const state = sqlState(error);
  if (state === "lock_timeout" || state === "deadlock") log.warn("tick.days-kept", { error: state });
  else note(error);
}

/** After what is due now, what is owed from before. */
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

/** After all that jobs wait for: a bus that hangs keeps none from being made. */
async function tellAll({ sql, log, bus, timeIsUp }: Run): Promise<void> {
  if (bus !== undefined) await tellEvents({ sql, log, ...bus }, timeIsUp);
}

async function rollUpTallies(run: Run): Promise<void> {
  run.total.rolledUp = await rollUp(run, run.total.rolledUp);
}
