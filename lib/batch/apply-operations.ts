import type { Tx } from "../db/connect.ts";
import { lockTeams } from "../db/locks.ts";
import { checkingOutside } from "../edit/app-check.ts";
import { isEditConflict } from "../edit/edit-conflicts.ts";
import { addTeams, type EditDeps } from "../edit/edit-transaction.ts";
import { RestartTransaction } from "../edit/restart-transaction.ts";
import { searchingOutside } from "../edit/search-outside.ts";
import { handOver } from "../parcel/hand-over.ts";
import { joinParcels } from "../parcel/join-parcels.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import type { Maker } from "../plan/make-later.ts";
import { makeAtOnce, owingWhatFails } from "../plan/maker.ts";
import { unfoldingInTime } from "../plan/unfolding-time.ts";
import { TeamNotLocked } from "../quota/quota-check.ts";
import { PassingConflict } from "../refusal.ts";
import type { Label } from "../schedule/shared-holds.ts";
import { oneByOneMax } from "./apply-wave.ts";
import { applyWaves } from "./apply-waves.ts";
import { checkAhead } from "./check-ahead.ts";
import { foreseeCredentials } from "./foresee-credentials.ts";
import { foreseeEdits, foreseeRuns } from "./foresee-runs.ts";
import { jobsReplacedMax } from "./jobs-budget.ts";
import { labelsMax } from "./lock-many.ts";
import type { Applied, ApplyOptions, Operation } from "./operation.ts";

/** Limit of attempts, if other transactions create, delete or lock the same schedules crosswise. */
const attemptsMax = 10;

/**
 * Applies many edits in one transaction, each as if it were alone, one after the other. Returns the
 * results in the order of the operations. Throws TooMuchAtOnce, TooManyLabels or TooManyJobs, without
 * having changed anything, if they do not fit into one transaction.
 */
export function applyOperations(
  deps: EditDeps,
  operations: readonly Operation[],
  options: ApplyOptions = {},
): Promise<Applied[]> {
  // If the jobs of a schedule cannot be written, only a single operation shows which schedule that
  // is. So the caller halves the operations.
  return operations.length > 1
    ? applyBy(makeAtOnce, deps, operations, options)
    : owingWhatFails((maker) => applyBy(maker, deps, operations, options));
}

async function applyBy(
  maker: Maker,
  deps: EditDeps,
  operations: readonly Operation[],
  options: ApplyOptions,
): Promise<Applied[]> {
  const labels: Label[] = [];
  const teams = new Set<string>();
  await foreseeRuns(deps.sql, operations);
  await foreseeCredentials(deps.sql, operations);
  for (let attempt = 1; ; ) {
    try {
      const once = () =>
        unfoldingInTime(deps.queue.timing, operations.length, () =>
          deps.sql.begin((tx) => applyOnce(tx, operations, { labels, teams, maker }, options)),
        );
      const { applied, parcels } = await checkingOutside(
        () => searchingOutside(once, { foresee: () => foreseeEdits(deps.sql, operations) }),
        (asked) => checkAhead(asked, operations),
      );
      await handOver(deps.sql, deps.queue, parcels);
      return applied;
    } catch (error) {
      if (error instanceof NothingDone) return error.applied;
      if (!isEditConflict(error)) throw error;
      // An attempt that found missing labels or teams made progress and does not count.
      if (!hasFound(error, labels, teams)) attempt += 1;
      if (attempt > attemptsMax)
        throw new PassingConflict(
          "Other requests keep creating and deleting these schedules. Retry the request.",
        );
    }
  }
}

/** Adds what an attempt has found that must be locked first; false if it has found nothing. */
function hasFound(error: unknown, labels: Label[], teams: Set<string>): boolean {
  addTeams(teams, error);
  if (error instanceof TeamNotLocked) return true;
  if (!(error instanceof RestartTransaction)) return false;
  labels.push(...error.labels);
  return error.labels.length > 0;
}

/** Rolls the transaction back, because one of the operations was refused. */
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
  { labels, teams, maker }: { labels: readonly Label[]; teams: ReadonlySet<string>; maker: Maker },
  { allOrNothing = false, before, after }: ApplyOptions,
): Promise<{ applied: Applied[]; parcels: OutgoingParcel[] }> {
  const size = allOrNothing ? "allOrNothing" : "divided";
  const most = { oneByOne: oneByOneMax[size], labelsMost: labelsMax[size], jobs: jobsReplacedMax[size] };
  await lockTeams(tx, teams);
  const passed = (await before?.(tx)) ?? new Set<number>();
  const wanted = operations.filter((_, index) => !passed.has(index));
  const done = await applyWaves(tx, wanted, { labels, teams, ...most, maker });
  const applied = operations.map(
    (operation): Applied => done.results.get(operation) ?? { change: "passed-over", key: operation.key },
  );
  if (allOrNothing && applied.some(({ change }) => change === "refused")) throw new NothingDone(applied);
  await after?.(tx, applied);
  return { applied, parcels: await joinParcels(tx, done.parcels) };
}
