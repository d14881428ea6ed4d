import type { Tx } from "../db/connect.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { Refusal } from "../refusal.ts";
import { carillonsOwn, type Hold, holdsAfter, holdsOfOne, isSameHold } from "../schedule/holds.ts";
import { findScheduleById } from "../schedule/stored-schedule.ts";
import type { EditContext } from "./edit.ts";
import { type Decision, type EditDeps, edit } from "./edit-transaction.ts";

/** What settles have found: a schedule whose jobs do not get through, and is to be held for that. */
interface WantedHold {
  scheduleId: string;
  ids: string[];
  /** The newest version whose jobs it was. */
  version: number;
  reason: string;
}

const wantedMax = 100;

export interface WantedBounds {
  timeIsUp?: () => boolean;
  /** Told of each that failed, which the log says too. */
  note?: (error: unknown) => void;
  only?: readonly string[] | null;
}

/**
 * Holds the schedules of which settles want it, in Carillon's own name: each an edit, with its version and its line in the audit. A
 * schedule that was edited since for something else, was deleted or is held so already stays as it is. What fails is left for the next
 * look. With `only`, those schedules alone.
 */
export async function applyWantedHolds(
  deps: EditDeps & { log: Log },
  { timeIsUp = () => false, note = () => {}, only = null }: WantedBounds,
): Promise<void> {
  for (const wanted of await wantedHolds(deps.sql, only)) {
    if (timeIsUp()) return;
    await applyOne(deps, wanted).catch((error: unknown) => {
      deps.log.warn("lifecycle.hold-failed", { schedule: wanted.scheduleId, error: errorText(error) });
      note(error);
    });
  }
}

function wantedHolds(sql: Tx, only: readonly string[] | null): PromiseLike<WantedHold[]> {
  return sql<WantedHold[]>`
    select schedule_id as "scheduleId", array_agg(id) as ids, max(version) as version, (array_agg(reason order by version desc, id))[1] as reason
    from carillon.wanted_holds ${only === null ? sql`` : sql`where schedule_id = any(${[...only]}::bigint[])`}
    group by schedule_id order by min(id) limit ${wantedMax}`;
}

async function applyOne(deps: EditDeps & { log: Log }, wanted: WantedHold): Promise<void> {
  const found = await findScheduleById(deps.sql, wanted.scheduleId);
  if (found === null) return forget(deps.sql, wanted);
  try {
    const done = await edit(
      deps,
      { key: found.key, caller: { name: carillonsOwn.owner } },
      { decide: (tx, context) => decide(tx, context, wanted) },
    );
    if (done.change === "changed") deps.log.warn("lifecycle.held", { key: found.key, reason: wanted.reason });
  } catch (error) {
    // Deleted since.
    if (!(error instanceof Refusal) || error.kind !== "missing") throw error;
    await forget(deps.sql, wanted);
  }
}

async function decide(tx: Tx, { current, state }: EditContext, wanted: WantedHold): Promise<Decision> {
  await forget(tx, wanted);
  if (current.id !== wanted.scheduleId || (await isAboutElse(tx, wanted))) return null;
  const holds = await holdsOfOne(tx, current.id);
  if (holds.some((each) => isSameHold(each, carillonsOwn))) return null;
  const hold: Hold = { ...carillonsOwn, reason: wanted.reason, until: null, since: state.now };
  return {
    edit: {
      change: "paused",
      holds: { set: [hold] },
      detail: { owner: carillonsOwn.owner, reason: wanted.reason, until: null },
    },
    holdsAfter: holdsAfter(holds, { set: [hold] }, state.now),
  };
}

/** The jobs that failed were of a version that asked for something else than the one in force. */
async function isAboutElse(tx: Tx, { scheduleId, version }: WantedHold): Promise<boolean> {
  const [newer] =
    await tx`select from carillon.schedules where id = ${scheduleId} and fresh_version > ${version}`;
  return newer !== undefined;
}

async function forget(tx: Tx, { ids }: WantedHold): Promise<void> {
  await tx`delete from carillon.wanted_holds where id = any(${ids}::bigint[])`;
}
