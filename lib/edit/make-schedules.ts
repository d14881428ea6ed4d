import type { Tx } from "../db/connect.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { type Planned, planFromEach, rulesOf } from "../plan/plan-schedule.ts";
import { endsByItself, letsGoAtOnce, planBeyondHold, planBeyondHolds } from "../plan/release.ts";
import type { ShardState } from "../plan/shard.ts";
import { changeBySpec, noUsage } from "../quota/usage.ts";
import { madeBy } from "../schedule/hold-reach.ts";
import { type Hold, heldUntilOf, ownHold, writeHoldsOfEach } from "../schedule/holds.ts";
import { resolveSpec } from "../schedule/resolve-spec.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import type { Json } from "../schedule/shape/json.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { withCredentials } from "../schedule/shape/target-credentials.ts";
import { labelsOf } from "../schedule/shared-holds.ts";
import { cadenceIds } from "../schedule/stored/cadence-columns.ts";
import { findScheduleById } from "../schedule/stored/stored-schedule.ts";
import { firstOf, timetableOf } from "../schedule/stored/timetable.ts";
import type { Held, Spec } from "../schedule/stored/version-rows.ts";
import { insertSchedules } from "../schedule/write-schedule.ts";
import { sealCredentials } from "../sealing/seal-credentials.ts";
import { heldSinceOf } from "./held-from.ts";
import type { Lookups } from "./lookups.ts";

export interface NewScheduleParams {
  id: string;
  key: string;
  body: ScheduleBody;
  caller: Caller;
  /** Start of relative times; now if left out. */
  countFrom?: Date | undefined;
  /** A deleted schedule that is made again: the version it is made from. */
  again?: MadeAgain | undefined;
}

export interface MadeAgain {
  /** Called under the locks. */
  spec: (known: Lookups, now: Date) => Promise<Spec>;
  /** For the audit. */
  detail: Json;
}

/** A schedule that is checked and ready to be inserted: no later step refuses it. */
export interface Prepared {
  params: NewScheduleParams;
  state: ShardState;
  spec: Spec;
  first: number | null;
  holds: readonly Hold[];
  held: Held | null;
  /** The team that counts it. */
  teamId: number | null;
}

/**
 * Checks a new schedule and computes what its insert needs. Called under the locks of its labels
 * and of its shard's plan. Throws a Refusal if the schedule cannot be planned.
 */
export async function prepareSchedule(
  known: Lookups,
  state: ShardState,
  params: NewScheduleParams,
): Promise<Prepared> {
  const { key, caller, countFrom, again } = params;
  await known.refuseMovedAway(key);
  await known.refuseMovedGroup(key, params.body.group);
  const target = await sealCredentials(key, withCredentials(params.body.target, null), null, known);
  const body = { ...params.body, target };
  const { now } = state;
  const spec = await (again?.spec(known, now) ?? resolveSpec(known.calendar, key, body, now, countFrom));
  const own: Hold = { ...ownHold(caller.name), reason: null, until: null, since: now, ...madeBy(caller) };
  const holds = [...(body.paused === true ? [own] : []), ...(await known.holdsBinding(labelsOf(body), key))];
  const first = firstOf(spec.cadence, now.getTime());
  const held = holds.length === 0 ? null : { since: heldSinceOf(first, now), until: heldUntilOf(holds) };
  const team = caller.reach?.team ?? "";
  await known.quota.admitGroup(body.group, team);
  await known.quota.take(key, changeBySpec(noUsage, spec), team);
  const teamId = (await known.quota.teamOf(key, team))?.id ?? null;
  return { params, state, spec, first, holds, held, teamId };
}

/**
 * Whether a new schedule needs statements of its own after its insert: its hold ends before the
 * watermark of the ticks.
 */
export function isMadeAlone({ params, state, spec, held }: Prepared): boolean {
  return endsByItself(held) && letsGoAtOnce(state, plannedFirst(params, spec, null), held);
}

/** Inserts schedules of any shards with their first version, and plans them. */
export async function makeSchedules(tx: Tx, prepared: readonly Prepared[]): Promise<OutgoingParcel[]> {
  const ids = await cadenceIds(
    tx,
    prepared.map(({ spec }) => spec),
  );
  const made = prepared.map((each, index) => {
    const cadenceId = ids[index] ?? null;
    return { ...each, cadenceId, planned: plannedFirst(each.params, each.spec, cadenceId) };
  });
  // Both are sent before either answer is awaited.
  const [, ofFree] = await Promise.all([
    insertSchedules(
      tx,
      made.map(({ params, state, spec, cadenceId, held, teamId }) => ({
        id: params.id,
        key: params.key,
        shard: state.shard,
        spec,
        cadenceId,
        held,
        teamId,
        detail: params.again?.detail,
        author: { ...params.caller, at: state.now },
      })),
    ),
    planFromEach(
      tx,
      made.filter(({ held }) => held === null),
    ),
  ]);
  await writeHoldsOfEach(
    tx,
    made.map(({ params, holds }) => ({ scheduleId: params.id, holds: { set: holds } })),
  );
  const ending = made.flatMap(({ state, planned, held }) =>
    endsByItself(held) ? [{ state, planned, held }] : [],
  );
  const atOnce = ending.filter(({ state, planned, held }) => letsGoAtOnce(state, planned, held));
  const later = ending.filter((each) => !atOnce.includes(each));
  const parcels = [...ofFree, ...(await planBeyondHolds(tx, later))];
  for (const { state, planned, held } of atOnce) {
    const schedule = await findScheduleById(tx, planned.id);
    if (schedule === null) throw new Error(`The schedule ${planned.id} has no row right after its insert.`);
    parcels.push(...(await planBeyondHold(tx, state, schedule, planned, held)));
  }
  return parcels;
}

function plannedFirst(
  { id, key }: NewScheduleParams,
  { cadence, body }: Spec,
  cadenceId: number | null,
): Planned {
  const timetable = timetableOf({ key, cadence, body, fires: 0 });
  return { id, version: 1, timetable, cadenceId, ...rulesOf(body) };
}
