import type { Tx } from "../db/connect.ts";
import { RestartTransaction } from "../edit/restart-transaction.ts";
import type { Maker } from "../plan/make-later.ts";
import { makeAtOnce } from "../plan/maker.ts";
import type { Label } from "../schedule/shared-holds.ts";
import { lockSchedules } from "../schedule/stored/stored-schedule.ts";
import { applyWave, checkBudget, type WavesDone } from "./apply-wave.ts";
import { type AlsoPassing, lockMany, type ManyLocked } from "./lock-many.ts";
import type { Operation } from "./operation.ts";

export interface WavesParams {
  /** Further labels that an earlier attempt found necessary. */
  labels: readonly Label[];
  /** The teams that are locked. */
  teams: ReadonlySet<string>;
  /** Limit of operations that are done one by one. Claims and ticks wait meanwhile. */
  oneByOne: number;
  /** Limit of jobs that are withdrawn and made. */
  jobs: number;
  /** Limit of the groups and tags that are locked. */
  labelsMost: number;
  also?: AlsoPassing;
  maker?: Maker;
}

/**
 * Operations of one key are applied in their order. The first wave has the first operation of every
 * key, the second wave the next one of every key that has more, and so on. Operations of a key that
 * fold share a wave.
 */
export async function applyWaves(
  tx: Tx,
  operations: readonly Operation[],
  { labels, teams, oneByOne: most, jobs, labelsMost, also, maker = makeAtOnce }: WavesParams,
): Promise<WavesDone> {
  const all: WavesDone = { results: new Map(), parcels: [] };
  if (operations.length === 0) return all;
  const locked = await lockMany(tx, operations, { labels, teams, also, labelsMost });
  if (locked === null) throw new RestartTransaction();
  const shards = new Map([...locked.existing].map(([key, { shard }]) => [key, shard]));
  const budget = {
    most,
    used: 0,
    jobs: { most: jobs, changed: [], counted: 0, used: 0, operations, shards },
  };
  let left: (readonly Operation[])[] = [...Map.groupBy(operations, ({ key }) => key).values()];
  for (let isFirst = true; left.length > 0; isFirst = false) {
    checkBudget(budget, 0);
    const wave = await applyWave(tx, left, locked, { budget, isFirst, maker });
    // Each wave after the first costs about as much as a single edit.
    budget.used += wave.oneByOne + 1;
    for (const [operation, applied] of wave.results) all.results.set(operation, applied);
    all.parcels.push(...wave.parcels);
    left = wave.left;
    const coming = left.flatMap(([next]) => (next === undefined ? [] : [next.key]));
    await readAgain(tx, coming, locked, wave.results);
  }
  return all;
}

/** Reads the schedules again that a wave has changed and the next one changes too. */
async function readAgain(
  tx: Tx,
  keys: readonly string[],
  { existing }: ManyLocked,
  results: WavesDone["results"],
): Promise<void> {
  if (keys.length === 0) return;
  const touched = new Set([...results.keys()].map(({ key }) => key));
  const again = keys.filter((key) => touched.has(key));
  const before = again.flatMap((key) => existing.get(key)?.id ?? []);
  const made = [...results.values()].flatMap((applied) => (applied.change === "created" ? [applied.id] : []));
  const ids = [...before, ...made];
  for (const key of again) existing.delete(key);
  for (const schedule of await lockSchedules(tx, ids)) {
    if (again.includes(schedule.key)) existing.set(schedule.key, schedule);
  }
}
