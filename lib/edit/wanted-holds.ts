import type { Sql, Tx } from "../db/connect.ts";
import type { Log } from "../log/log.ts";
import { blameOnceLocked } from "../quarantine/in-halves.ts";
import { isAside, waitsAside } from "../quarantine/quarantine.ts";
import { type TriedInShard, tryEachInShards } from "../quarantine/try-rows.ts";
import { Refusal } from "../refusal.ts";
import { carillonsOwn, type Hold, holdsAfter, holdsOfOne, isSameHold } from "../schedule/holds.ts";
import { findScheduleById } from "../schedule/stored/stored-schedule.ts";
import type { EditContext } from "./apply-edit.ts";
import { type Decision, type EditDeps, type EditDone, edit } from "./edit-transaction.ts";

/** A request by settles to hold a schedule because its jobs keep failing. */
interface WantedHold extends TriedInShard {
  scheduleId: string;
  ids: string[];
  /** The newest version among the failed jobs. */
  version: number;
  reason: string;
}

const pageMax = 100;

type WantedDeps = EditDeps & { log: Log };

export interface WantedBounds {
  timeIsUp?: () => boolean;
  /**
   * Called with each failure that does not stop the holds of other schedules. Without it, the first
   * failure is thrown.
   */
  note?: (error: unknown) => void;
  only?: readonly string[] | null;
}

const raise = (error: unknown) => {
  throw error;
};

/**
 * Holds the schedules that settles have requested to hold, in Carillon's own name. Each hold is an
 * edit with a version and an audit entry. A schedule stays as it is if an edit has changed its
 * time, target or payload since, if it is deleted, or if it already has this hold. A schedule that
 * fails is set aside, and a shard whose locks are not granted is left until the next tick. `only`
 * restricts this to the named schedules.
 */
export async function applyWantedHolds(
  deps: WantedDeps,
  { timeIsUp = () => false, note = raise, only = null }: WantedBounds,
): Promise<void> {
  const quarantine = { sql: deps.sql, log: deps.log, consumer: "wanted-hold" as const };
  const left = new Set<number>();
  for (let page = await wantedHolds(deps.sql, only, left); page.length > 0; ) {
    await tryEachInShards(quarantine, page, (wanted) => applyOne(deps, wanted), {
      timeIsUp,
      note,
      left,
    });
    if (page.length < pageMax || timeIsUp()) return;
    page = await wantedHolds(deps.sql, only, left);
  }
}

/**
 * Each request is applied, set aside, or belongs to a shard that is left, so the next page begins
 * with others. A request whose schedule is purged has no shard.
 */
function wantedHolds(
  sql: Sql,
  only: readonly string[] | null,
  left: ReadonlySet<number>,
): PromiseLike<WantedHold[]> {
  const id = sql`w.schedule_id`;
  return sql<WantedHold[]>`
    select w.schedule_id as item, w.schedule_id as "scheduleId", coalesce(max(s.shard), -1) as shard, array_agg(w.id) as ids, max(w.version) as version,
      (array_agg(w.reason order by w.version desc, w.id))[1] as reason, ${isAside(sql, "wanted-hold", id)} as aside
    from carillon.wanted_holds w left join carillon.schedules s on s.id = w.schedule_id
    where coalesce(s.shard <> all(${[...left]}::smallint[]), true) and not ${waitsAside(sql, "wanted-hold", id)} ${only === null ? sql`` : sql`and w.schedule_id = any(${[...only]}::bigint[])`}
    group by w.schedule_id order by min(w.id) limit ${pageMax}`;
}

async function applyOne(deps: WantedDeps, wanted: WantedHold): Promise<void> {
  const found = await findScheduleById(deps.sql, wanted.scheduleId);
  if (found === null) return forget(deps.sql, wanted);
  const done = await blameOnceLocked((noteLocked) => holdUnlessGone(deps, found.key, wanted, noteLocked));
  if (done === null) return forget(deps.sql, wanted);
  if (done.change === "changed") deps.log.warn("lifecycle.held", { key: found.key, reason: wanted.reason });
}

/** Null if the schedule was deleted since. */
async function holdUnlessGone(
  deps: WantedDeps,
  key: string,
  wanted: WantedHold,
  noteLocked: () => void,
): Promise<EditDone | null> {
  try {
    return await edit(
      deps,
      { key, caller: { name: carillonsOwn.owner } },
      { decide: (tx, context) => decide(tx, context, wanted), noteLocked },
    );
  } catch (error) {
    if (error instanceof Refusal && error.kind === "missing") return null;
    throw error;
  }
}

async function decide(tx: Tx, { current, state }: EditContext, wanted: WantedHold): Promise<Decision> {
  await forget(tx, wanted);
  if (current.id !== wanted.scheduleId || (await isAboutElse(tx, wanted))) return null;
  const holds = await holdsOfOne(tx, current.id);
  if (holds.some((each) => isSameHold(each, carillonsOwn))) return null;
  const made = { reason: wanted.reason, until: null, since: state.now, reach: null, team: null };
  const hold: Hold = { ...carillonsOwn, ...made };
  return {
    edit: {
      change: "paused",
      holds: { set: [hold] },
      detail: { owner: carillonsOwn.owner, reason: wanted.reason, until: null },
    },
    holdsAfter: holdsAfter(holds, { set: [hold] }, state.now),
  };
}

/** Whether an edit has changed time, target or payload since the version of the failed jobs. */
async function isAboutElse(tx: Tx, { scheduleId, version }: WantedHold): Promise<boolean> {
  const [newer] =
    await tx`select from carillon.schedules where id = ${scheduleId} and fresh_version > ${version}`;
  return newer !== undefined;
}

async function forget(tx: Tx, { ids }: WantedHold): Promise<void> {
  await tx`delete from carillon.wanted_holds where id = any(${ids}::bigint[])`;
}
