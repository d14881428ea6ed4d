import type { Tx } from "../db/connect.ts";
import { notePassedUnderHolds } from "../edit/ended-hold.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { rowMax } from "../plan/backlog.ts";
import { momentOf } from "../plan/instants.ts";
import { type Planned, planFromEach, plannedOf } from "../plan/plan-schedule.ts";
import { endsByItself, fireReleases, planBeyondHolds, releaseOf } from "../plan/release.ts";
import { missedAfterMs, type ShardState } from "../plan/shard.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { afterFires, firstDueAfter } from "../schedule/stored/timetable.ts";
import type { HoldsHere } from "./holds-here.ts";

export interface ArrivedHere extends Omit<HoldsHere, "holds"> {
  state: ShardState;
  schedule: StoredSchedule;
  /** From here on no occurrence has become a job in the other installation. */
  since: Date;
}

interface Gap {
  state: ShardState;
  planned: Planned;
  since: Date;
}

/** Plans schedules that have arrived, from the beginning of the span without jobs. */
export async function planArrived(tx: Tx, arrived: readonly ArrivedHere[]): Promise<OutgoingParcel[]> {
  const beyond = arrived.flatMap(({ state, schedule, held }) =>
    endsByItself(held) ? [{ state, planned: plannedOf(schedule), held }] : [],
  );
  const free = arrived.filter(({ held }) => held === null);
  const gaps = free.flatMap((each): Gap[] =>
    wasHeld(each) ? [] : [{ ...each, planned: plannedOf(each.schedule) }],
  );
  const parcels = await planBeyondHolds(tx, beyond);
  for (const ofShard of Map.groupBy(free.filter(wasHeld), ({ state }) => state.shard).values())
    parcels.push(...(await releaseEach(tx, ofShard, gaps)));
  return [...parcels, ...(await planFromEach(tx, gaps.map(planGap)))];
}

type WasHeld = ArrivedHere & { ended: Date };

function wasHeld(each: ArrivedHere): each is WasHeld {
  return each.ended !== null && each.ended > each.since;
}

/** The others' holds ended while nobody could see it: their ends are carried out now. */
async function releaseEach(tx: Tx, ofShard: readonly WasHeld[], gaps: Gap[]): Promise<OutgoingParcel[]> {
  const [first] = ofShard;
  if (first === undefined) return [];
  const { state } = first;
  const releases = ofShard.map(({ schedule, since, ended }) =>
    releaseOf({ ...schedule, heldSince: since, heldUntil: ended }),
  );
  const { parcels, made } = await fireReleases(tx, state, releases);
  await notePassedUnderHolds(
    tx,
    ofShard.map(({ schedule, since, ended }) => ({ schedule, since, until: ended })),
    state,
  );
  for (const { schedule, ended } of ofShard) {
    const planned = plannedOf(schedule);
    const timetable = afterFires(planned.timetable, made.get(schedule.id) ?? 0);
    gaps.push({ state, planned: { ...planned, timetable }, since: ended });
  }
  return parcels;
}

/**
 * Plans from an instant in the past. Every occurrence since then runs, whatever the schedule asks
 * for after an outage, as the move is none: a few at once, and many through the backlog.
 */
function planGap({ state, planned, since }: Gap) {
  const catchUp = { policy: "all" as const, withinMs: null, limit: rowMax };
  const timetable = { ...planned.timetable, catchUp };
  const now = state.now.getTime();
  const { upTo: _, ...owed } = momentOf(timetable, { now, bound: now, missedAfterMs });
  return {
    state,
    planned: { ...planned, timetable },
    first: firstDueAfter(timetable, since.getTime()),
    owed,
  };
}
