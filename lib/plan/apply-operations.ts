import type { Tx } from "../db/connect.ts";
import { handOver } from "../parcel/hand-over.ts";
import { joinParcels } from "../parcel/join-parcels.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { PassingConflict } from "../refusal.ts";
import type { Label } from "../schedule/shared-holds.ts";
import { lockSchedules } from "../schedule/stored-schedule.ts";
import { applyWave, BeginAnew, oneByOneMax, TooMuchAtOnce, type WaveDone } from "./apply-wave.ts";
import { type EditDeps, mayPass } from "./edit-transaction.ts";
import { lockMany, type ManyLocked } from "./lock-many.ts";
import type { Applied, ApplyOptions, Operation } from "./operation.ts";

/** So often they begin anew, where others make, delete or lock the same schedules crosswise. */
const beginningsMax = 10;

/**
 * Many edits in one transaction, each as if it were alone and one after the other; the results in the order of the operations. Throws
 * TooMuchAtOnce, and has then done nothing, where too many of them cannot be done together.
 */
export async function applyOperations(
  deps: EditDeps,
  operations: readonly Operation[],
  options: ApplyOptions = {},
): Promise<Applied[]> {
  const labels: Label[] = [];
  for (let beginning = 1; ; ) {
    try {
      const { applied, parcels } = await deps.sql.begin((tx) => applyOnce(tx, operations, labels, options));
      await handOver(deps.sql, deps.queue, parcels);
      return applied;
    } catch (error) {
      if (error instanceof NothingDone) return error.applied;
      if (error instanceof BeginAnew) labels.push(...error.labels);
      else if (!mayPass(error)) throw error;
      // What it has learnt about labels brings it further each time.
      if (!(error instanceof BeginAnew) || error.labels.length === 0) beginning += 1;
      if (beginning > beginningsMax)
        throw new PassingConflict("Schedules are being created and deleted by others at this moment.");
    }
  }
}

/** Rolls back what was done, because one of them was refused. */
class NothingDone extends Error {
  override readonly name = "NothingDone";
  readonly applied: Applied[];

  constructor(applied: Applied[]) {
    super("Nothing was done: one of the operations was refused.");
    this.applied = applied;
  }
}

async function applyOnce(
  tx: Tx,
  operations: readonly Operation[],
  labels: readonly Label[],
  { allOrNothing = false, before, after }: ApplyOptions,
): Promise<{ applied: Applied[]; parcels: OutgoingParcel[] }> {
  const passed = (await before?.(tx)) ?? new Set<number>();
  const wanted = operations.filter((_, index) => !passed.has(index));
  const done = wanted.length === 0 ? nothingToDo : await applyWaves(tx, wanted, labels);
  const applied = operations.map(
    (operation): Applied => done.results.get(operation) ?? { change: "passed-over", key: operation.key },
  );
  if (allOrNothing && applied.some(({ change }) => change === "refused")) throw new NothingDone(applied);
  await after?.(tx, applied);
  return { applied, parcels: await joinParcels(tx, done.parcels) };
}

const nothingToDo: WaveDone = { results: new Map(), parcels: [], oneByOne: 0 };

/** Operations of one key follow each other: the first of every key together, then the second of every key that has one, and so on. */
async function applyWaves(
  tx: Tx,
  operations: readonly Operation[],
  labels: readonly Label[],
): Promise<WaveDone> {
  const locked = await lockMany(tx, operations, labels);
  if (locked === null) throw new BeginAnew();
  const all: WaveDone = { results: new Map(), parcels: [], oneByOne: 0 };
  let left = [...Map.groupBy(operations, ({ key }) => key).values()];
  while (left.length > 0) {
    if (all.oneByOne > oneByOneMax) throw new TooMuchAtOnce();
    const wave = left.flatMap(([first]) => (first === undefined ? [] : [first]));
    const { results, parcels, oneByOne } = await applyWave(tx, wave, locked, oneByOneMax - all.oneByOne);
    // Each wave after the first costs about what an edit by itself does.
    all.oneByOne += oneByOne + 1;
    for (const [operation, applied] of results) all.results.set(operation, applied);
    all.parcels.push(...parcels);
    left = left.map(([, ...others]) => others).filter(({ length }) => length > 0);
    await readAnew(
      tx,
      left.flatMap(([next]) => (next === undefined ? [] : [next.key])),
      locked,
      results,
    );
  }
  return all;
}

/** What a wave has changed and the next one changes again. */
async function readAnew(
  tx: Tx,
  keys: readonly string[],
  { standing }: ManyLocked,
  results: WaveDone["results"],
): Promise<void> {
  if (keys.length === 0) return;
  const touched = new Set([...results.keys()].map(({ key }) => key));
  const again = keys.filter((key) => touched.has(key));
  const before = again.flatMap((key) => standing.get(key)?.id ?? []);
  const made = [...results.values()].flatMap((applied) => (applied.change === "created" ? [applied.id] : []));
  const ids = [...before, ...made];
  for (const key of again) standing.delete(key);
  for (const schedule of await lockSchedules(tx, ids)) {
    if (again.includes(schedule.key)) standing.set(schedule.key, schedule);
  }
}
