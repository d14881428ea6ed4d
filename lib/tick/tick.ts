import type { CanarySettings } from "../canary/canaries.ts";
import { keepCanaries } from "../canary/keep-canaries.ts";
import type { Acceptance } from "../command/acceptance.ts";
import { auditRetention, jobRetention } from "../config/function-limits.ts";
import type { Sql } from "../db/connect.ts";
import { sqlState } from "../db/sql-state.ts";
import { keepSetting } from "../lifecycle/outbox.ts";
import type { TellDeps } from "../lifecycle/tell-bus.ts";
import { type MadeParcel, spreadParcels } from "../limit/target-limits.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { ParcelQueue } from "../parcel/parcel-queue.ts";
import { type Notify, notifyByDefault } from "../parcel/settle.ts";
import { sweep, sweepMax, watchedLeases } from "../parcel/sweep.ts";
import { deleteEnded } from "../plan/delete-ended.ts";
import { applyWantedHolds } from "../plan/wanted-holds.ts";
import { dropDays } from "../retention/drop-days.ts";
import { purge } from "../retention/purge.ts";
import { admitBacklog, backlogDefaults } from "./admit-backlog.ts";
import { applyInboxFirst, finishInbox } from "./apply-inbox.ts";
import { clearEndedHolds } from "./clear-ended-holds.ts";
import { attachDays, bringNear, shardsToBringNear } from "./days.ts";
import { finishSharedHolds } from "./finish-shared-holds.ts";
import { followHandlers } from "./follow-handlers.ts";
import { forgetAnswers } from "./forget-answers.ts";
import { forgetCommands } from "./forget-commands.ts";
import { passIdleShards } from "./idle-shards.ts";
import { makePulseParcels } from "./make-pulse-parcels.ts";
import { nameTargets } from "./name-targets.ts";
import { type ParcelSending, parcelSending } from "./parcel-sending.ts";
import { replanCalendars } from "./replan-calendars.ts";
import { replanZones } from "./replan-zones.ts";
import { type RolledUp, rollUp } from "./roll-up.ts";
import { fireShardBatch } from "./shard-batch.ts";
import { inTurn, shardsOf, type TickShare, wholeTick } from "./share.ts";
import { tellEvents } from "./tell-events.ts";

export interface TickDeps {
  sql: Sql;
  queue: ParcelQueue;
  log: Log;
  /** The bus that is told of jobs; without, what is to be told stays in the outbox. */
  bus?: Pick<TellDeps, "events" | "bus"> | undefined;
  /** What is taken of the SQL inbox; without, it is left alone. */
  acceptance?: Acceptance | undefined;
  /** Milliseconds that only rise, by which waits that were told a while ago are shortened; a test's stand still. */
  now?: (() => number) | undefined;
}

export interface TickSettings {
  /** Plan rows per transaction: larger is faster per row, smaller keeps edits of the shard waiting less. */
  batchMax: number;
  /** Shards worked on at once, each on a connection of its own. */
  lanes: number;
  retentionDays: number;
  /** Whether a day of jobs goes only when the archive has it. */
  archives: boolean;
  /** How long the audit is kept; null: for ever. */
  auditRetentionDays: number | null;
  /** Of what is owed from before, so many jobs are let in by one tick, and of each schedule so many in its turn. */
  backlogBudget: number;
  backlogPerTurn: number;
  /** How the runtime names its zone data, for example 2026b; null where it does not tell. */
  zoneData: string | null;
  /** What the bus is told of. */
  notify: Notify;
  /** The schedules that prove the way; null for none. */
  canary: CanarySettings | null;
  /** Which part of the minute's work is this tick's. */
  share: TickShare;
}

export const tickDefaults: TickSettings = {
  batchMax: 5_000,
  lanes: 2,
  retentionDays: jobRetention.byDefault,
  archives: false,
  auditRetentionDays: auditRetention.byDefault,
  backlogBudget: backlogDefaults.budget,
  backlogPerTurn: backlogDefaults.perTurn,
  zoneData: process.versions["tz"] ?? null,
  notify: notifyByDefault,
  canary: null,
  share: wholeTick,
};

export interface Ticked {
  batches: number;
  jobs: number;
  parcels: number;
  finished: boolean;
  /** What has happened since a tick last told, whoever made it happen; of share 0 alone. */
  rolledUp?: RolledUp;
}

/** What the phases of one tick share. */
interface Run extends TickDeps {
  settings: TickSettings;
  timeIsUp: () => boolean;
  total: Ticked;
  /** Made by this tick for targets with a rate. */
  rated: MadeParcel[];
  /** Keeps a failure for the end: it does not keep the other phases and shards from theirs. */
  note: (error: unknown) => void;
}

/**
 * One tick: everything due until the horizon becomes jobs and parcels, shard by shard, batch by batch, until nothing is due
 * or time is nearly gone. It may run beside other ticks, be killed anywhere or come hours late: the jobs are the same.
 * What fails does not keep the rest from being done; the tick then fails at its end, so that it is seen.
 */
export async function tick(deps: TickDeps, settings: TickSettings, timeIsUp: () => boolean): Promise<Ticked> {
  const failures: unknown[] = [];
  const total: Ticked = { batches: 0, jobs: 0, parcels: 0, finished: true };
  const note = (error: unknown) => void failures.push(error);
  const run: Run = { ...deps, settings, timeIsUp, total, rated: [], note };
  // What is there once, and not by shard, is share 0's: done by each it would be done many times for nothing.
  const keepsHouse = settings.share.share === 0;
  const attached = keepsHouse && (await prepare(run));
  await fireShards(run);
  await makePulses(run).catch(run.note);
  await sendSpread(run).catch(run.note);
  if (keepsHouse) await finish(run, attached);
  if (failures.length > 0)
    throw new AggregateError(
      failures,
      `${failures.length} parts of the tick failed: ${failures.map(errorText).join("; ")}`,
    );
  return total;
}

/** What firing needs. Returns whether the days that it may need are there. */
async function prepare(run: Run): Promise<boolean> {
  // The line between near and far may only rise to days that are attached.
  const attached = (await days(run, () => attachDays(run.sql)).catch(run.note)) === true;
  if (attached) await bringNearWhere(run, ({ urgent }) => urgent).catch(run.note);
  await keepSetting(run.sql, run.settings.notify).catch(run.note);
  await keepCanaries(run, run.settings.canary).catch(run.note);
  await applyInboxFirst(run).catch(run.note);
  return attached;
}

/** What can wait until what is due now has become jobs. */
async function finish(run: Run, attached: boolean): Promise<void> {
  await admitOwed(run).catch(run.note);
  await sweepAll(run).catch(run.note);
  await clearEndedHolds(run, run).catch(run.note);
  await applyWantedHolds(run, run).catch(run.note);
  await finishInbox(run).catch(run.note);
  if (attached) await bringNearWhere(run, () => true).catch(run.note);
  await days(run, () => dropPast(run)).catch(run.note);
  await purgePast(run).catch(run.note);
  await deleteEnded(run.sql, run.timeIsUp).catch(run.note);
  await tellAll(run).catch(run.note);
  await finishSharedHolds(run, run).catch(run.note);
  await followHandlers(run, run).catch(run.note);
  await nameTargets(run.sql, run.timeIsUp).catch(run.note);
  await forgetCommands(run.sql, run.settings.retentionDays, run.timeIsUp).catch(run.note);
  await forgetAnswers(run.sql, run.timeIsUp).catch(run.note);
  await replanCalendars(run, run).catch(run.note);
  await replanZones(run, run.settings.zoneData, run).catch(run.note);
  await rollUpTallies(run).catch(run.note);
}

/** Lanes side by side, each taking shard after shard. */
async function fireShards(run: Run): Promise<void> {
  const sending = parcelSending(run, run.note, run.now);
  const own = shardsOf(run.settings.share);
  const idle = await passIdle(run, own);
  const shards = inTurn(own.filter((shard) => !idle.has(shard)));
  const lane = async () => {
    for (const shard of shards) await fireShard(run, shard, sending).catch(run.note);
  };
  await Promise.all(Array.from({ length: run.settings.lanes }, lane));
  await sending.finish();
}

/** Where that fails each shard is fired by itself, idle or not. */
async function passIdle(run: Run, shards: readonly number[]): Promise<ReadonlySet<number>> {
  try {
    return await passIdleShards(run.sql, shards);
  } catch (error) {
    run.note(error);
    return new Set();
  }
}

async function fireShard(run: Run, shard: number, sending: ParcelSending): Promise<void> {
  const { sql, settings, total } = run;
  for (let done = false; !done; ) {
    if (run.timeIsUp()) {
      total.finished = false;
      return;
    }
    const batch = await fireShardBatch(sql, shard, settings.batchMax);
    total.batches += 1;
    total.jobs += batch.jobs;
    total.parcels += batch.parcels.length;
    sending.add(batch.parcels.filter(({ rated }) => rated === null));
    run.rated.push(...batch.parcels.filter(({ rated }) => rated !== null));
    done = batch.done;
  }
}

async function makePulses(run: Run): Promise<void> {
  run.total.parcels += await makePulseParcels(run, run.settings.share);
}

/** What goes to targets with a rate, of all shards together. Should this tick die before, the sweep sends it as it is. */
async function sendSpread({ sql, queue, rated }: Run): Promise<void> {
  if (rated.length > 0) await handOver(sql, queue, await spreadParcels(sql, rated));
}

/** Firing comes first: only a line that would stop it is raised before. */
async function bringNearWhere(run: Run, wanted: (shard: { urgent: boolean }) => boolean): Promise<void> {
  for (const { shard } of (await shardsToBringNear(run.sql)).filter(wanted)) {
    await bringAllNear(run, shard).catch(run.note);
  }
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
async function days({ log }: Run, act: () => Promise<void>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    const state = sqlState(error);
    if (state !== "lock_timeout" && state !== "deadlock") throw error;
    log.warn("tick.days-kept", { error: state });
    return false;
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
    const swept = await sweep(sql, log, settings.notify);
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
