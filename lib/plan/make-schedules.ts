import type { Tx } from "../db/connect.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { cadenceIds } from "../schedule/cadence-columns.ts";
import type { Caller } from "../schedule/caller.ts";
import { type Hold, heldUntilOf, ownHold, writeHolds } from "../schedule/holds.ts";
import { resolveSpec } from "../schedule/resolve-spec.ts";
import type { ScheduleBody } from "../schedule/schedule-body.ts";
import { labelsOf } from "../schedule/shared-holds.ts";
import { findScheduleById } from "../schedule/stored-schedule.ts";
import { withCredentials } from "../schedule/target-credentials.ts";
import { firstOf, timetableOf } from "../schedule/timetable.ts";
import { type Held, insertSchedules, type Spec } from "../schedule/write-schedule.ts";
import { heldSinceOf } from "./held-from.ts";
import type { Known } from "./known.ts";
import { type Planned, planFromEach, rulesOf } from "./plan-schedule.ts";
import { planBeyondHold } from "./release.ts";
import type { ShardState } from "./shard.ts";

export interface NewWish {
  id: string;
  key: string;
  body: ScheduleBody;
  caller: Caller;
  /** From when relative times count; from now where it is left out. */
  countFrom?: Date | undefined;
}

/** A schedule that can be made: nothing of it is refused any more. */
export interface Prepared {
  wish: NewWish;
  state: ShardState;
  spec: Spec;
  first: number | null;
  holds: readonly Hold[];
}

/** Under the locks of its labels and its shard's plan. Throws a Refusal for what cannot be planned. */
export async function prepareSchedule(known: Known, state: ShardState, wish: NewWish): Promise<Prepared> {
  const { key, caller, countFrom } = wish;
  const body = { ...wish.body, target: withCredentials(wish.body.target, null) };
  const { now } = state;
  const spec = await resolveSpec(known.calendar, key, body, now, countFrom);
  const own: Hold = { ...ownHold(caller.name), reason: null, until: null, since: now };
  const holds = [...(body.paused === true ? [own] : []), ...(await known.holdsBinding(labelsOf(body), key))];
  return { wish, state, spec, first: firstOf(spec.cadence, now.getTime()), holds };
}

/** Makes schedules, of any shards, with their first version, and plans them. */
export async function makeSchedules(tx: Tx, prepared: readonly Prepared[]): Promise<OutgoingParcel[]> {
  const ids = await cadenceIds(
    tx,
    prepared.map(({ spec }) => spec),
  );
  const made = prepared.map((each, index) => {
    const { wish, state, spec, first, holds } = each;
    const { key, id } = wish;
    const held =
      holds.length === 0 ? null : { since: heldSinceOf(first, state.now), until: heldUntilOf(holds) };
    const cadenceId = ids[index] ?? null;
    const timetable = timetableOf({ key, cadence: spec.cadence, body: spec.body, fires: 0 });
    const planned = { id, version: 1, timetable, cadenceId, ...rulesOf(spec.body) };
    return { ...each, held, cadenceId, planned };
  });
  // Sent ahead of the others, and not waited for alone.
  const [, ofFree] = await Promise.all([
    insertSchedules(
      tx,
      made.map(({ wish, state, spec, cadenceId, held }) => ({
        id: wish.id,
        key: wish.key,
        shard: state.shard,
        spec,
        cadenceId,
        held,
        author: { ...wish.caller, at: state.now },
      })),
    ),
    planFromEach(
      tx,
      made.filter(({ held }) => held === null),
    ),
  ]);
  const parcels = [...ofFree];
  for (const { wish, state, planned, held, holds } of made) {
    if (held === null) continue;
    await writeHolds(tx, wish.id, { set: holds });
    parcels.push(...(await planAfterHold(tx, state, planned, held)));
  }
  return parcels;
}

async function planAfterHold(
  tx: Tx,
  state: ShardState,
  planned: Planned,
  { since, until }: Held,
): Promise<OutgoingParcel[]> {
  if (until === null) return [];
  const schedule = await findScheduleById(tx, planned.id);
  if (schedule === null) throw new Error(`Schedule ${planned.id} is gone as soon as it was made.`);
  return planBeyondHold(tx, state, schedule, planned, { since, until });
}
