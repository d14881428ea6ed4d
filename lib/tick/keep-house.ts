import { keepCanaries } from "../canary/keep-canaries.ts";
import { sqlState } from "../db/sql-state.ts";
import { keepSetting } from "../lifecycle/outbox.ts";
import { handOver } from "../parcel/hand-over.ts";
import { sweep, sweepMax, watchedLeases } from "../parcel/sweep.ts";
import { deleteEnded } from "../plan/delete-ended.ts";
import { applyWantedHolds } from "../plan/wanted-holds.ts";
import { dropDays } from "../retention/drop-days.ts";
import { purge } from "../retention/purge.ts";
import { admitBacklog } from "./admit-backlog.ts";
import { applyInboxFirst, finishInbox } from "./apply-inbox.ts";
import { clearEndedHolds } from "./clear-ended-holds.ts";
import { attachDays, bringNear, type ShardToBringNear, shardsToBringNear } from "./days.ts";
import { finishSharedHolds } from "./finish-shared-holds.ts";
import { followHandlers } from "./follow-handlers.ts";
import { forgetAnswers } from "./forget-answers.ts";
import { forgetCommands } from "./forget-commands.ts";
import { raiseIdleLines } from "./idle-shards.ts";
import { type After, lookAfter, lookBefore } from "./look.ts";
import { nameTargets } from "./name-targets.ts";
import { replanCalendars } from "./replan-calendars.ts";
import { replanZones } from "./replan-zones.ts";
import { retryPlans } from "./retry-plans.ts";
import { rollUp } from "./roll-up.ts";
import type { Run } from "./run.ts";
import { tellEvents } from "./tell-events.ts";

/** Which days are there: those from yesterday on, and all back to the oldest watermark. */
export interface DaysThere {
  now: boolean;
  past: boolean;
}

/** What firing needs. */
export async function prepare(run: Run): Promise<DaysThere> {
  const there = await lookBefore(run.sql, run.settings).catch((error: unknown) => {
    run.note(error);
    return { near: true, setting: true, canaries: true, inbox: true, countedEmpty: true };
  });
  // Before anything is planned by them.
  if (there.countedEmpty) await run.sql`select carillon.forget_queue_sizes()`.catch(run.note);
  // The line between near and far may only rise to days that are attached.
  const attached = await attach(run);
  if (there.near) await bringNearWhere(run, attached, ({ urgent }) => urgent).catch(run.note);
  if (there.setting) await keepSetting(run.sql, run.settings.notify).catch(run.note);
  if (there.canaries) await keepCanaries(run, run.settings.canary).catch(run.note);
  if (there.inbox) await applyInboxFirst(run).catch(run.note);
  return attached;
}

async function attach(run: Run): Promise<DaysThere> {
  const there = { now: false, past: false };
  const onNow = () => {
    there.now = true;
  };
  await days(run, async () => {
    there.past = await attachDays(run.sql, run.timeIsUp, onNow);
  }).catch(run.note);
  return there;
}

interface Part {
  /** Where there is none of it, the part is left out; always looked after without. */
  of?: keyof After;
  act: () => Promise<unknown>;
  /** What it does may be work for parts after it, which the look did not see: then none of them is left out. */
  stirs?: true;
}

/** What can wait until what is due now has become jobs. */
export async function finish(run: Run, attached: DaysThere): Promise<void> {
  const there = await lookAfter(run.sql, run.settings).catch((error: unknown) => {
    run.note(error);
    return null;
  });
  let stirred = there === null;
  for (const { of, act, stirs } of partsOf(run, attached)) {
    if (of !== undefined && !stirred && there?.[of] === false) continue;
    stirred ||= stirs === true;
    await act().catch(run.note);
  }
}

function partsOf(run: Run, attached: DaysThere): Part[] {
  const { sql, settings, timeIsUp } = run;
  return [
    { of: "plans", act: () => retryPlans(run), stirs: true },
    { of: "backlog", act: () => admitOwed(run), stirs: true },
    { of: "parcels", act: () => sweepAll(run), stirs: true },
    { of: "holds", act: () => clearEndedHolds(run), stirs: true },
    { of: "wantedHolds", act: () => applyWantedHolds(run, run), stirs: true },
    { of: "inbox", act: () => finishInbox(run), stirs: true },
    { of: "near", act: () => bringNearWhere(run, attached, () => true) },
    { of: "pastDays", act: () => days(run, () => dropPast(run)) },
    { act: () => purgePast(run) },
    { of: "ended", act: () => deleteEnded(run, run), stirs: true },
    { of: "events", act: () => tellAll(run) },
    { of: "sharedHolds", act: () => finishSharedHolds(run, run), stirs: true },
    { of: "handlers", act: () => followHandlers(run, run), stirs: true },
    { of: "targets", act: () => nameTargets(sql, timeIsUp) },
    { of: "commands", act: () => forgetCommands(sql, settings.retentionDays, timeIsUp) },
    { of: "answers", act: () => forgetAnswers(sql, timeIsUp) },
    { of: "calendars", act: () => replanCalendars(run, run), stirs: true },
    { of: "zones", act: () => replanZones(run, settings.zoneData, run), stirs: true },
    // Also where there is nothing to add: by it the counts say of when they are.
    { act: () => rollUpTallies(run) },
  ];
}

/** Firing comes first: only a line that would stop it is raised before. */
async function bringNearWhere(
  run: Run,
  attached: DaysThere,
  wanted: (shard: ShardToBringNear) => boolean,
): Promise<void> {
  if (!attached.now) return;
  const shards = (await shardsToBringNear(run.sql))
    .filter((shard) => wanted(shard) && (attached.past || !shard.behind))
    .map(({ shard }) => shard);
  if (shards.length === 0) return;
  const raised = await raiseIdleLines(run.sql, shards);
  for (const shard of shards) if (!raised.has(shard)) await bringAllNear(run, shard).catch(run.note);
}

async function bringAllNear({ sql, timeIsUp }: Run, shard: number): Promise<void> {
  while (!timeIsUp() && (await bringNear(sql, shard)));
}

async function dropPast({ sql, log, settings, timeIsUp }: Run): Promise<void> {
  const wish = { retentionDays: settings.retentionDays, archived: settings.archives };
  const dropped = await dropDays(sql, wish, timeIsUp);
  if (dropped.length > 0) log.info("tick.days-dropped", { days: dropped.join(" ") });
}

async function purgePast({ sql, log, settings, timeIsUp }: Run): Promise<void> {
  const { schedules, auditEntries } = await purge(sql, settings, timeIsUp);
  if (schedules + auditEntries > 0) log.info("tick.purged", { schedules, auditEntries });
}

/** Attaching and dropping give up quickly where somebody holds a lock: the next minute tries again. */
async function days({ log }: Run, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    const state = sqlState(error);
    if (state !== "lock_timeout" && state !== "deadlock") throw error;
    log.warn("tick.days-kept", { error: state });
  }
}

/** After what is due now, what is owed from before. */
async function admitOwed({ sql, queue, settings, timeIsUp }: Run): Promise<void> {
  const backlog = { budget: settings.backlogBudget, perTurn: settings.backlogPerTurn };
  await handOver(sql, queue, await admitBacklog(sql, backlog, timeIsUp));
}

async function sweepAll({ sql, queue, log, settings, timeIsUp }: Run): Promise<void> {
  await handOver(sql, queue, await watchedLeases(sql));
  for (let looked = sweepMax; looked === sweepMax && !timeIsUp(); ) {
    const swept = await sweep(sql, log, settings.notify, timeIsUp);
    await handOver(sql, queue, swept.outgoing);
    looked = swept.looked;
  }
}

/** After all that jobs wait for: a bus that hangs keeps none from being made. */
async function tellAll({ sql, log, bus, timeIsUp }: Run): Promise<void> {
  if (bus !== undefined) await tellEvents({ sql, log, ...bus }, timeIsUp);
}

async function rollUpTallies({ sql, timeIsUp, total }: Run): Promise<void> {
  total.rolledUp = await rollUp(sql, timeIsUp);
}
