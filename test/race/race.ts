import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "../../lib/db/connect.ts";
import { shardCount } from "../../lib/plan/shard.ts";
import { admin, killer, staller, ticker, type World, worker } from "./actors.ts";
import { claimRecorder } from "./claims.ts";
import { speedUp } from "./fast-clock.ts";
import { judge, type Verdict } from "./judge.ts";
import { readLedger } from "./ledger.ts";
import { connectThrough, type WrapLine } from "./lines.ts";
import { memoryQueues } from "./memory-queues.ts";
import { diceOf, seeded } from "./seeded.ts";

export interface RaceOptions {
  databaseUrl: string;
  seed: number;
  /**
   * The length of the part with edits and faults: a real time, or numbers of events. The healing is
   * additional.
   */
  volume: { ms: number } | RaceVolume;
  tickers?: number;
  workers?: number;
  admins?: number;
  schedules?: number;
  factor?: number;
  /**
   * Each schedule has its own shard, and the handler has one place: many parcels wait for the
   * place, and are worked together with the parcel that has it.
   */
  apart?: boolean;
  /**
   * The longest time without progress before the round is given up; a slow machine needs long for
   * the accumulated work.
   */
  healMs?: number;
  /** The changes that a mutant makes to an actor's connection. */
  mutate?: { ticker?: WrapLine; worker?: WrapLine; admin?: WrapLine };
}

/**
 * The race runs until all of these numbers are reached, which takes longer on a slow machine. None
 * of them counts completed jobs: on a slow machine jobs fall behind the fast clock, and are
 * completed while healing.
 */
export interface RaceVolume {
  edits: number;
  killed: number;
  /** Periods without ticks, each so long that occurrences are missed. */
  stalls: number;
  /** Parcels that were worked together with another. */
  companions?: number;
}

export interface RaceReport extends Verdict {
  seed: number;
  counts: World["counts"];
  companions: number;
  healedMs: number;
}

// Longer than the horizon and the two minutes after which an occurrence is missed, at sixty times
// the speed.
const stallMs = 5_500;

const plain: WrapLine = (line) => line;

/**
 * Ticks, workers and admins on one database with every kind of fault; then the faults stop, and the
 * oracle judges.
 */
export async function race(options: RaceOptions): Promise<RaceReport> {
  const {
    databaseUrl,
    seed,
    volume,
    tickers = 3,
    workers = 5,
    admins = 4,
    schedules = 30,
    factor = 60,
    apart = false,
    mutate = {},
  } = options;
  const bystander = connectThrough(databaseUrl, plain, { max: 2, applicationName: "bystander" });
  const clock = await speedUp(bystander, factor);
  // Every eighth id, so two of the sixteen shards: all schedules compete.
  if (!apart) await bystander`alter table carillon.schedules alter column id set increment by 8`;
  else await countAsQuick(bystander);
  const recorder = claimRecorder(clock);
  const world: World = {
    clock,
    recorder,
    dice: diceOf(seeded(seed)),
    queues: memoryQueues(clock, 30_000),
    ...(apart ? { shards: [...Array(shardCount).keys()], window: 1 } : { shards: [1, 9] }),
    keys: Array.from({ length: schedules }, (_, index) => `race:${index}`),
    acknowledged: [],
    unexpected: [],
    state: { editing: true, faults: true, ticksStalled: false, fired: false, over: false },
    counts: { ticks: 0, edits: 0, unknownEdits: 0, deaths: 0, killed: 0, stalls: 0 },
  };
  const own: Sql[] = [];
  const connected = (wrap: WrapLine = plain, max = 1) => {
    const sql = connectThrough(databaseUrl, (line, onLost) => recorder.wrap(wrap(line, onLost), onLost), {
      max,
      applicationName: "race",
    });
    own.push(sql);
    return sql;
  };
  const many = (count: number, start: (index: number) => Promise<void>) =>
    Array.from({ length: count }, (_, index) => start(index));
  const editing = many(admins, (index) =>
    admin(world, connected(mutate.admin), index % 2 === 0 ? "ann" : "bob"),
  );
  const running = [
    ...many(tickers, () => ticker(world, connected(mutate.ticker, 2))),
    ...many(workers, () => worker(world, connected(mutate.worker, 2))),
  ];
  const killing = killer(world, bystander);
  const stalling = staller(world, stallMs);

  if ("ms" in volume) await pause(volume.ms);
  else while (!hasHappened(volume, world)) await pause(50);
  world.state.editing = false;
  world.state.faults = false;
  await Promise.all([...editing, stalling]);
  await killing;
  const end = clock.now();
  const healedMs = await untilHealed(world, bystander, end, options.healMs ?? 60_000);
  world.state.over = true;
  await Promise.all(running);
  const verdict = judge(
    await readLedger(bystander, end),
    { claims: recorder.claims, acknowledged: world.acknowledged },
    end.getTime(),
    5 * factor,
  );
  await Promise.all([...own, bystander].map((sql) => sql.end()));
  verdict.violations.push(...world.unexpected.map((each) => `unexpected: ${each}`));
  return { ...verdict, seed, counts: world.counts, companions: recorder.companions(), healedMs };
}

/**
 * The multiple of the requested edits after which the race ends: if the other events have not
 * happened by then, the product lags behind, not the machine.
 */
const editsMost = 6;

function hasHappened(volume: RaceVolume, { counts, recorder }: World): boolean {
  if (counts.edits >= editsMost * volume.edits) return true;
  return (
    counts.edits >= volume.edits &&
    counts.killed >= volume.killed &&
    counts.stalls >= volume.stalls &&
    recorder.companions() >= (volume.companions ?? 0)
  );
}

/**
 * Keeps the recorded cost of every job at a millisecond. By the fast clock jobs take seconds, and a
 * worker takes along no more jobs than take half a second.
 */
async function countAsQuick(sql: Sql): Promise<void> {
  await sql`alter table carillon.targets alter column cost_ms set default 1`;
  await sql`create or replace function carillon.roll_up_work(p_max int) returns int language sql as 'select 0'`;
}

/**
 * Waits until no job that was due by the end is waiting (except under a hold), or until no job or
 * message has moved for too long: the oracle then reports what is stuck.
 */
async function untilHealed({ state, queues }: World, sql: Sql, end: Date, healMs: number): Promise<number> {
  const startedAt = Date.now();
  let movedAt = startedAt;
  let [fewestJobs, fewestMessages] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  while (Date.now() - movedAt < healMs) {
    await pause(100);
    const [row] = await sql<{ fired: boolean; waiting: number }[]>`
      select not exists (select from carillon.shards where watermark_at <= ${end}) as fired, (
        select count(*)::int from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
        where j.state = 'waiting' and j.due_at <= ${end} and (s.held_since is null or s.held_until <= carillon.clock() or s.deleted_at is not null)) as waiting`;
    if (row === undefined) throw new Error("A count has one row.");
    state.fired = row.fired;
    if (row.fired && row.waiting === 0) break;
    if (row.waiting < fewestJobs || queues.size() < fewestMessages) movedAt = Date.now();
    fewestJobs = Math.min(fewestJobs, row.waiting);
    fewestMessages = Math.min(fewestMessages, queues.size());
  }
  return Date.now() - startedAt;
}

/** A verdict in one line, with the seed that reproduces it. */
export function lineOf({
  seed,
  owed,
  claims,
  passedOver,
  counts,
  companions,
  healedMs,
  violations,
}: RaceReport): string {
  const kinds = [...Map.groupBy(violations, (each) => each.slice(0, each.indexOf(":")))].map(
    ([kind, all]) => `${kind} ${all.length}`,
  );
  const { ticks, edits, unknownEdits, deaths, killed, stalls } = counts;
  return (
    `seed ${seed}: ${owed} expected, ${claims} claims (${companions} in company), ${passedOver} passed over, ${ticks} ticks, ${edits} edits (${unknownEdits} unanswered), ` +
    `${killed} connections killed, ${stalls} stalls of the ticks, ${deaths} workers dead, healed in ${healedMs} ms: ${kinds.length === 0 ? "nothing broken" : kinds.join(", ")}`
  );
}
