import type { Acceptance } from "../command/acceptance.ts";
import type { Tx } from "../db/connect.ts";
import { notePassedUnderHolds } from "../edit/ended-hold.ts";
import { lockForChange } from "../edit/lock-for-change.ts";
import type { Lookups } from "../edit/lookups.ts";
import { lookUpOneByOne } from "../edit/lookups.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { rowMax } from "../plan/backlog.ts";
import { momentOf } from "../plan/instants.ts";
import { noteRanges } from "../plan/note-passed.ts";
import { type Planned, planFrom, plannedOf } from "../plan/plan-schedule.ts";
import { endsByItself, fireRelease, planBeyondHolds } from "../plan/release.ts";
import { missedAfterMs, readShard, type ShardState, shardOf } from "../plan/shard.ts";
import { readTeamState } from "../quota/team-list.ts";
import { changeBySpec, noUsage } from "../quota/usage.ts";
import { Refusal } from "../refusal.ts";
import { type Hold, heldUntilOf, isSameHold, writeHoldsOfEach } from "../schedule/holds.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { labelsOf } from "../schedule/shared-holds.ts";
import {
  findPlaceOrNewId,
  findScheduleById,
  type StoredSchedule,
} from "../schedule/stored/stored-schedule.ts";
import { afterFires, firstDueAfter } from "../schedule/stored/timetable.ts";
import type { Held } from "../schedule/stored/version-rows.ts";
import { insertArrived, raiseVersion } from "../schedule/write-schedule.ts";
import { arriveJobs, type JobsHere } from "./arrive-jobs.ts";
import type { MovedPart, MovedSchedule } from "./moved-doc.ts";
import type { Move } from "./moves.ts";
import { rangesBefore } from "./ranges-before.ts";
import type { SpecsHere } from "./read-specs.ts";
import { readSpecs } from "./read-specs.ts";
import { writeVersions } from "./write-versions.ts";

export interface BeginParams {
  accept: Acceptance;
  move: Move;
  schedule: MovedSchedule;
  /** The part that has the schedule, with some of its jobs. */
  part: MovedPart;
  caller: Caller;
  /** The teams that are locked. */
  teams: ReadonlySet<string>;
}

/**
 * Makes a schedule of another installation here, with its versions, holds and jobs, and plans it:
 * all occurrences that have become due since it was frozen there become jobs.
 */
export async function beginHere(
  tx: Tx,
  { accept, move, schedule, part, caller, teams }: BeginParams,
): Promise<{ scheduleId: string; parcels: OutgoingParcel[] }> {
  const { key } = schedule;
  if (!key.startsWith(move.prefix))
    throw new Refusal(
      "forbidden",
      `The move is of keys that begin with ${move.prefix}, and ${key} does not.`,
    );
  const place = await findPlaceOrNewId(tx, key);
  if (!("newId" in place)) throw new Refusal("conflict", `The schedule ${key} exists already.`);
  const scheduleId = place.newId;
  const specs = await readSpecs(tx, schedule);
  const { spec } = specs.current;
  accept.body(spec.body, key);
  const shard = shardOf(scheduleId);
  const [, state, teamState] = await Promise.all([
    lockForChange(tx, { labels: labelsOf(spec.body), shards: [shard], gates: [] }),
    readShard(tx, shard),
    readTeamState(tx),
  ]);
  const known = lookUpOneByOne(tx, state.now, { state: teamState, locked: teams });
  const team = caller.reach?.team ?? "";
  await known.quota.take(key, changeBySpec(noUsage, spec), team);
  const teamId = (await known.quota.teamOf(key, team))?.id ?? null;
  // The key is here again, if it was moved away earlier.
  await tx`delete from carillon.moved_schedules where key = ${key} and confirmed_at is not null`;
  const { held, ended } = await writeSchedule(tx, state, {
    scheduleId,
    schedule,
    specs,
    teamId,
    move,
    caller,
    known,
  });
  const ofJobs = await arriveJobs(tx, state, { scheduleId, ...part });
  const stored = await requireSchedule(tx, scheduleId);
  const planned = await plan(tx, state, stored, { since: new Date(schedule.heldSince), held, ended });
  return { scheduleId, parcels: [...ofJobs, ...planned] };
}

/** Adds further jobs to a schedule that has begun here, and that may have been deleted since. */
export async function jobsHere(tx: Tx, here: JobsHere): Promise<OutgoingParcel[]> {
  const shard = shardOf(here.scheduleId);
  await lockForChange(tx, { shards: [shard], gates: [] });
  const state = await readShard(tx, shard);
  const [live] =
    await tx`select from carillon.schedules where id = ${here.scheduleId} and deleted_at is null`;
  return arriveJobs(tx, state, live === undefined ? cancelled(here) : here);
}

/** The delete would have cancelled these jobs, had they been here. */
function cancelled({ scheduleId, jobs }: JobsHere): JobsHere {
  const ended = jobs.map((job) => (job.open ? { ...job, open: false, reason: "deleted" } : job));
  return { scheduleId, jobs: ended, owed: [] };
}

interface Written {
  scheduleId: string;
  schedule: MovedSchedule;
  specs: SpecsHere;
  teamId: number | null;
  move: Move;
  caller: Caller;
  known: Lookups;
}

async function writeSchedule(
  tx: Tx,
  state: ShardState,
  { scheduleId, schedule, specs, teamId, move, caller, known }: Written,
): Promise<{ held: Held | null; ended: Date | null }> {
  const { current } = specs;
  const { version, changedBy, changedAt, change } = current.version;
  await insertArrived(tx, {
    id: scheduleId,
    key: schedule.key,
    shard: state.shard,
    spec: current.spec,
    cadenceId: current.cadenceId,
    held: null,
    teamId,
    version,
    change,
    author: { name: changedBy, at: new Date(changedAt) },
  });
  await writeVersions(tx, state, { scheduleId, schedule, specs });
  const { holds, held, ended } = await holdsHere(known, state, schedule, current.spec.body);
  await writeHoldsOfEach(tx, [{ scheduleId, holds: { set: holds } }]);
  const arrived = await requireSchedule(tx, scheduleId);
  await raiseVersion(
    tx,
    arrived,
    { change: "resumed", held, detail: { move: move.id, movedFrom: move.peer } },
    { ...caller, at: state.now },
  );
  await noteRanges(tx, [{ schedule: arrived, ranges: rangesBefore(schedule, specs), notedAt: state.now }]);
  return { held, ended };
}

async function requireSchedule(tx: Tx, id: string): Promise<StoredSchedule> {
  const schedule = await findScheduleById(tx, id);
  if (schedule === null) throw new Error(`The schedule ${id} has no row right after its insert.`);
  return schedule;
}

/**
 * The holds of a schedule that arrives: its own that have not ended, and those of its labels here. A
 * hold of a label that is not known here becomes one of the schedule, so that a person can release
 * it. `ended`: until when others than the move held it, if they do no more.
 */
async function holdsHere(
  known: Lookups,
  { now }: ShardState,
  { key, holds, heldSince, heldTo }: MovedSchedule,
  body: Parameters<typeof labelsOf>[0],
): Promise<{ holds: Hold[]; held: Held | null; ended: Date | null }> {
  const ofLabels = await known.holdsBinding(labelsOf(body), key);
  const sent = holds.map(
    (hold): Hold => ({
      ...hold,
      since: new Date(hold.since),
      until: hold.until === null ? null : new Date(hold.until),
    }),
  );
  const own = sent
    .filter(({ until }) => until === null || until > now)
    .filter((hold) => !ofLabels.some((each) => isSameHold(each, hold)))
    .map((hold): Hold => (hold.scope === "schedule" ? hold : { ...hold, ...asOwn(hold) }));
  const standing = [...[...Map.groupBy(own, ({ owner }) => owner).values()].flatMap(asOne), ...ofLabels];
  if (standing.length > 0) {
    const held = { since: new Date(heldSince), until: heldUntilOf(standing) };
    return { holds: standing, held, ended: null };
  }
  const ends = [...(heldTo === null ? [] : [new Date(heldTo)]), ...sent.flatMap(({ until }) => until ?? [])];
  const last = ends.reduce<Date | null>((a, b) => (a === null || b > a ? b : a), null);
  return { holds: [], held: null, ended: last };
}

const asOwn = ({ scope, name, reason }: Hold) => ({
  scope: "schedule" as const,
  name: "",
  reason: [`Hold of the ${scope} ${name}.`, ...(reason === null ? [] : [reason])].join(" "),
});

/** The holds of one owner that are all of the schedule here become one, which ends with the last of them. */
function asOne(holds: readonly Hold[]): Hold[] {
  const [first, ...others] = holds;
  if (first === undefined || others.length === 0) return [...holds];
  const reasons = holds.flatMap(({ reason }) => reason ?? []);
  return [{ ...first, until: heldUntilOf(holds), reason: reasons.length === 0 ? null : reasons.join(" ") }];
}

async function plan(
  tx: Tx,
  state: ShardState,
  schedule: StoredSchedule,
  { since, held, ended }: { since: Date; held: Held | null; ended: Date | null },
): Promise<OutgoingParcel[]> {
  const planned = plannedOf(schedule);
  if (held !== null) return endsByItself(held) ? planBeyondHolds(tx, [{ state, planned, held }]) : [];
  if (ended === null || ended <= since) return planGap(tx, state, planned, since);
  // The others' hold ended while nobody could see it: its end is carried out now.
  const underHold = { ...schedule, heldSince: since, heldUntil: ended };
  const released = await fireRelease(tx, state, underHold, schedule.version);
  await notePassedUnderHolds(tx, [{ schedule, since, until: ended }], state);
  const left = { ...planned, timetable: afterFires(planned.timetable, released.made) };
  return [...released.parcels, ...(await planGap(tx, state, left, ended))];
}

/**
 * Plans from an instant in the past. Every occurrence since then runs, whatever the schedule asks
 * for after an outage, as the move is none: a few at once, and many through the backlog.
 */
function planGap(tx: Tx, state: ShardState, planned: Planned, since: Date): Promise<OutgoingParcel[]> {
  const catchUp = { policy: "all" as const, withinMs: null, limit: rowMax };
  const timetable = { ...planned.timetable, catchUp };
  const now = state.now.getTime();
  const { upTo: _, ...owed } = momentOf(timetable, { now, bound: now, missedAfterMs });
  return planFrom(tx, state, { ...planned, timetable }, firstDueAfter(timetable, since.getTime()), owed);
}
