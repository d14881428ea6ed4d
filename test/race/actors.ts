import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../../lib/clock.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import { sqlState } from "../../lib/db/sql-state.ts";
import { silentLog } from "../../lib/log/log.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { UnfoldingTooLong } from "../../lib/plan/unfolding-time.ts";
import { Refusal } from "../../lib/refusal.ts";
import { done, thrown } from "../../lib/target/delivery.ts";
import { BatchFailed, fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { workMessages } from "../../lib/worker/worker.ts";
import type { ClaimRecorder } from "./claims.ts";
import type { Acknowledged } from "./judge.ts";
import { type MemoryQueues, recordOf, type SendFate } from "./memory-queues.ts";
import { mindOf } from "./mind.ts";
import type { Dice } from "./seeded.ts";

/** The state that all actors share; `faults` is turned off when the healing begins. */
export interface World {
  clock: Clock;
  dice: Dice;
  queues: MemoryQueues;
  recorder: ClaimRecorder;
  shards: readonly number[];
  /**
   * How many parcels of a handler may be worked at the same time. The workers then also have time
   * to take waiting parcels along. Default: no limit.
   */
  window?: number;
  keys: readonly string[];
  acknowledged: Acknowledged[];
  unexpected: string[];
  /** `fired`: everything that is judged has become jobs, and ticks only sweep. */
  state: { editing: boolean; faults: boolean; ticksStalled: boolean; fired: boolean; over: boolean };
  counts: {
    ticks: number;
    edits: number;
    unknownEdits: number;
    deaths: number;
    killed: number;
    stalls: number;
  };
}

export class Died extends Error {
  override readonly name = "Died";
}

/**
 * The errors that a killed connection, a killed process or a busy machine causes; any other error is a
 * fault of the product.
 */
export function isExpected(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isExpected);
  // A batch of several rows is repeated with fewer of them, because a limit of the server may have
  // ended it.
  if (error instanceof BatchFailed) return isExpected(error.cause);
  // The clock of the run is fast: a pause of the process by a loaded machine counts as long computing.
  // The transaction is rolled back, and the API repeats it with fewer schedules.
  if (error instanceof UnfoldingTooLong) return true;
  if (error instanceof Died || error instanceof ConnectionLost) return true;
  return sqlState(error) === "shutdown";
}

export async function enduring(world: World, who: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!isExpected(error))
      world.unexpected.push(`${who}: ${error instanceof Error ? (error.stack ?? error) : error}`);
  }
}

function fate({ state, dice }: World): SendFate {
  if (!state.faults) return "arrives";
  if (dice.chance(0.04)) return "lost";
  if (dice.chance(0.06)) return "doubled";
  if (dice.chance(0.02)) return "refused";
  return dice.chance(0.01) ? "unanswered" : "arrives";
}

/**
 * Ticks: complete ones, and single batches of any size, some of which die between the commit and
 * the send.
 */
export async function ticker(world: World, sql: Sql): Promise<void> {
  const { dice, queues, shards, state, counts } = world;
  const queue = queues.sender(() => fate(world));
  const batch = async () => {
    const fired = await fireShardBatch(sql, dice.pick(shards), dice.between(1, 12), queue.timing);
    if (state.faults && dice.chance(0.1)) throw new Died("before the send");
    await handOver(sql, queue, fired.parcels);
  };
  const sweeping = async () => {
    const swept = await sweep(sql, silentLog);
    await handOver(sql, queue, swept.outgoing);
  };
  const whole = async () => {
    let batches = state.faults ? dice.between(4, 200) : Number.POSITIVE_INFINITY;
    await tick(
      { sql, queue, log: silentLog },
      { ...tickDefaults, batchMax: dice.between(1, 50) },
      () => state.over || --batches < 0,
    );
  };
  while (!state.over) {
    if (state.ticksStalled) {
      await pause(20);
      continue;
    }
    counts.ticks += 1;
    const firing = dice.chance(0.15) ? whole : dice.chance(0.3) ? sweeping : batch;
    const act = state.fired ? sweeping : firing;
    await enduring(world, "ticker", act);
    await pause(dice.between(1, 30));
  }
}

/**
 * A worker environment: it receives and works messages, and deletes those that it did not return as
 * failed. Some die in the middle, some outlive their lease.
 */
export async function worker(world: World, sql: Sql): Promise<void> {
  const { dice, queues, recorder, state, counts, clock } = world;
  const queue = queues.sender(() => fate(world));
  while (!state.over) {
    // While healing, as many as SQS allows: the faults left messages of settled parcels, which
    // delay the others.
    const messages = queues.receive(state.faults ? dice.between(1, 4) : 10, (count) =>
      dice.between(0, count - 1),
    );
    if (messages.length === 0) {
      await pause(5);
      continue;
    }
    // On a slow machine this fast clock makes work long. While healing, no lease may end under a
    // live worker.
    const timeMs = state.faults ? dice.between(12_000, 30_000) : 900_000;
    const until = clock.now().getTime() + timeMs + (world.window === undefined ? 0 : 40_000);
    const deliver: Parameters<typeof workMessages>[0]["deliver"] = async (jobs) => {
      if (state.faults && dice.chance(0.03)) return perish("before delivery");
      await clock.sleep(dice.between(0, 400));
      const deliveries = jobs.map((job) => {
        if (state.faults && dice.chance(0.12)) return thrown(new Error("The target refused."));
        recorder.tookDelivery(job);
        return done;
      });
      if (state.faults && dice.chance(0.02)) return perish("after delivery");
      if (state.faults && dice.chance(0.02))
        await clock.sleep(until - clock.now().getTime() + dice.between(0, 60_000));
      return deliveries;
    };
    const perish = (when: string): never => {
      counts.deaths += 1;
      throw new Died(when);
    };
    await enduring(world, "worker", async () => {
      const random = () => dice.between(0, 999) / 1_000;
      const deps = {
        sql,
        queue,
        deliver,
        clock,
        log: silentLog,
        random,
        notify: notifyByDefault,
        window: world.window ?? null,
      };
      const { batchItemFailures } = await workMessages(
        deps,
        messages.map(recordOf),
        () => until - clock.now().getTime(),
      );
      const kept = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      for (const message of messages) if (!kept.has(String(message.id))) queues.remove(message);
    });
  }
}

/** A caller that edits schedules all the time. */
export async function admin(world: World, sql: Sql, name: string): Promise<void> {
  const { dice, queues, state, counts } = world;
  const mind = mindOf(world, { sql, queue: queues.sender(() => fate(world)) }, name);
  while (state.editing) {
    counts.edits += 1;
    try {
      world.acknowledged.push(...(await mind.change()));
    } catch (error) {
      if (isExpected(error)) counts.unknownEdits += 1;
      else if (!(error instanceof Refusal))
        world.unexpected.push(`admin: ${error instanceof Error ? error.stack : error}`);
    }
    await pause(dice.between(1, 60));
  }
}

/** Kills a random connection of the run every now and then, in whatever state it is. */
export async function killer(world: World, sql: Sql): Promise<void> {
  while (world.state.faults) {
    await pause(world.dice.between(60, 150));
    if (await killOne(sql, "race", world.dice)) world.counts.killed += 1;
  }
}

/**
 * Ends the server process of one of these connections, and waits until it has ended. False when
 * there is none, or it ended by itself.
 */
export async function killOne(sql: Sql, applicationName: string, dice: Dice): Promise<boolean> {
  // Ordered by age, so that the choice follows the seed and not the server's list.
  const running = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity
    where datname = current_database() and application_name = ${applicationName} order by backend_start, pid`;
  if (running.length === 0) return false;
  const [victim] = await sql<{ gone: boolean }[]>`
    select pg_terminate_backend(${dice.pick(running).pid}, 10000) as gone`;
  return victim?.gone === true;
}

/** From time to time no tick runs for so long that occurrences are missed. */
export async function staller({ state, dice, counts }: World, stallMs: number): Promise<void> {
  const waitWhileFaults = async (ms: number) => {
    for (let waited = 0; waited < ms && state.faults; waited += 50) await pause(50);
  };
  for (let calmMs = 1_000; state.faults; calmMs = dice.between(2_000, 15_000)) {
    await waitWhileFaults(calmMs);
    state.ticksStalled = true;
    await waitWhileFaults(stallMs);
    state.ticksStalled = false;
    counts.stalls += 1;
  }
}
