import type { Acceptance } from "../command/acceptance.ts";
import type { Tx } from "../db/connect.ts";
import { shareGates } from "../db/locks.ts";
import { lockForChange } from "../edit/lock-for-change.ts";
import { type Lookups, lookUpTogether } from "../edit/lookups.ts";
import { cutOf, readShards, type ShardState, shardOf, stateOf } from "../plan/shard.ts";
import { TeamNotLocked } from "../quota/quota-check.ts";
import { readTeamState } from "../quota/team-list.ts";
import { changeBySpec, noUsage } from "../quota/usage.ts";
import { PassingConflict, Refusal } from "../refusal.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { distinctLabels, labelsOf } from "../schedule/shared-holds.ts";
import { newScheduleIds } from "../schedule/write-schedule.ts";
import type { MovedPart, MovedSchedule } from "./moved-doc.ts";
import type { Move } from "./moves.ts";
import { calendarsOnce, readSpecs, type SpecsRead } from "./read-specs.ts";

/** The part of a schedule that has the schedule itself, with some of its jobs. */
export type FirstPart = MovedPart & { schedule: MovedSchedule };

export const isFirst = (part: MovedPart): part is FirstPart => part.schedule !== null;

/** A schedule that arrives, and the part that has it. */
export interface Arriving {
  part: MovedPart;
  schedule: MovedSchedule;
}

/** A schedule that arrives and can be here: no later step refuses it. */
export interface Admitted extends Arriving {
  /** Its number here. */
  scheduleId: string;
  state: ShardState;
  specs: SpecsRead;
  /** The team that counts it. */
  teamId: number | null;
}

export interface Asked {
  accept: Acceptance;
  move: Move;
  caller: Caller;
  /** The teams that are locked. */
  teams: ReadonlySet<string>;
  /** See `liveKeys`. */
  live: ReadonlySet<string>;
}

export interface ArrivalsDecided {
  admitted: Admitted[];
  /** By the number of the schedule in the other installation. */
  refused: ReadonlyMap<string, Refusal>;
  known: Lookups;
}

/** The keys of these schedules that schedules here have. */
export async function liveKeys(tx: Tx, arriving: readonly Arriving[]): Promise<ReadonlySet<string>> {
  const rows = await tx<{ key: string }[]>`
    select key from carillon.schedules where key = any(${arriving.map(({ schedule }) => schedule.key)}::text[]) and deleted_at is null`;
  return new Set(rows.map(({ key }) => key));
}

/**
 * Decides which schedules can be here, one after the other, and takes the locks of all, shared:
 * labels, plans, and the gates of those with open jobs. A quota counts those that are admitted
 * together.
 */
export async function decideArrivals(
  tx: Tx,
  arriving: readonly Arriving[],
  { accept, move, caller, teams, live }: Asked,
): Promise<ArrivalsDecided> {
  const refused = new Map<string, Refusal>();
  const calendar = calendarsOnce(tx);
  const readable = await withoutRefused(arriving, refused, async (each) => {
    const { key } = each.schedule;
    refuseKey(key, move, live);
    const specs = await readSpecs(calendar, each.schedule);
    accept.body(specs.current.spec.body, key);
    return { ...each, specs };
  });
  const { numbered, known, states } = await lockArriving(tx, readable, teams);
  const near = new Set<string>();
  const team = caller.reach?.team ?? "";
  const admitted = await withoutRefused(numbered, refused, async (each) => {
    const { key } = each.schedule;
    await takingNear(near, () => known.quota.take(key, changeBySpec(noUsage, each.specs.current.spec), team));
    const teamId = (await known.quota.teamOf(key, team))?.id ?? null;
    return { ...each, teamId, state: stateOf(states, shardOf(each.scheduleId)) };
  });
  if (near.size > 0) throw new TeamNotLocked([...near]);
  return { admitted, refused, known };
}

/** Gives the schedules their numbers here, locks what they need, and reads what the decisions need. */
async function lockArriving<Each extends Arriving & { specs: SpecsRead }>(
  tx: Tx,
  readable: readonly Each[],
  locked: ReadonlySet<string>,
) {
  const ids = await newScheduleIds(tx, readable.length);
  const numbered = readable.map((each, index) => ({ ...each, scheduleId: ids[index] ?? "" }));
  const labels = distinctLabels(readable.flatMap(({ specs }) => labelsOf(specs.current.spec.body)));
  const withJobs = numbered.filter(({ part }) => part.jobs.some(({ open }) => open));
  const [, , states, state] = await Promise.all([
    lockForChange(tx, { labels, shards: ids.map(shardOf), gates: [] }),
    // Taken here: the jobs are opened again behind new rows for which others wait.
    shareGates(
      tx,
      withJobs.map(({ scheduleId }) => shardOf(scheduleId)),
    ),
    readShards(tx),
    readTeamState(tx),
  ]);
  const keys = readable.map(({ schedule }) => schedule.key);
  const known = await lookUpTogether(tx, { ids: [], keys, labels, quota: { state, locked } }, cutOf(states));
  return { numbered, known, states };
}

/** The results for those that `act` does not refuse. */
async function withoutRefused<Each extends Arriving, Result>(
  all: readonly Each[],
  refused: Map<string, Refusal>,
  act: (each: Each) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const each of all) {
    try {
      results.push(await act(each));
    } catch (error) {
      if (!(error instanceof Refusal) || error instanceof PassingConflict) throw error;
      refused.set(each.part.id, error);
    }
  }
  return results;
}

/** Notes the teams that must be locked first, so that the transaction begins again once for all. */
async function takingNear(near: Set<string>, take: () => Promise<void>): Promise<void> {
  try {
    await take();
  } catch (error) {
    if (!(error instanceof TeamNotLocked)) throw error;
    for (const team of error.teams) near.add(team);
  }
}

function refuseKey(key: string, { prefix }: Move, live: ReadonlySet<string>): void {
  if (!key.startsWith(prefix))
    throw new Refusal("forbidden", `The move is of keys that begin with ${prefix}, and ${key} does not.`);
  if (live.has(key)) throw new Refusal("conflict", `The schedule ${key} exists already.`);
}
