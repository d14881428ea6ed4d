import type { Tx } from "../db/connect.ts";
import { withWaitingRechecks } from "../edit/end-rechecks.ts";
import { lockForChange } from "../edit/lock-for-change.ts";
import { patchedBody } from "../edit/schedule-edits.ts";
import { onceOf } from "../history/planned-job.ts";
import { readShards, type ShardState, shardOf } from "../plan/shard.ts";
import { FewerFit } from "../quarantine/in-halves.ts";
import type { QuotaStart } from "../quota/quota-check.ts";
import { knowTeams, readTeamState, type TeamState, teamsOf } from "../quota/team-list.ts";
import { Refusal } from "../refusal.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { targetName } from "../schedule/shape/target-name.ts";
import { distinctLabels, type Label, labelsOf } from "../schedule/shared-holds.ts";
import { findSchedules, lockSchedules, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { newScheduleIds } from "../schedule/write-schedule.ts";
import type { Operation } from "./operation.ts";
import { haveNoJobs, pulseWithoutJobs } from "./pulses-without-jobs.ts";

/** All rows that the operations touch, locked, and one cut for all of them. */
export interface ManyLocked {
  /** Existing schedules, by key. */
  existing: Map<string, StoredSchedule>;
  states: ReadonlyMap<number, ShardState>;
  /** The ids of schedules to be created. */
  newIds: ReadonlyMap<Operation, string>;
  /** Labels that the operations may put on schedules. */
  labels: readonly Label[];
  /** The bodies after each operation, as far as they are known before the locks. */
  bodies: ReadonlyMap<Operation, ScheduleBody>;
  quota: QuotaStart;
}

/**
 * The most groups and tags of one transaction. Each is a lock, and the table of locks of the server has
 * room for 64 times its connections: with 50,000 the transactions of all teams failed. A batch that
 * may be divided goes on in the next transaction.
 */
export const labelsMax = { divided: 500, allOrNothing: 2_000 } as const;

export class TooManyLabels extends FewerFit {
  override readonly name = "TooManyLabels";

  constructor({ labels, operations, most }: { labels: number; operations: number; most: number }) {
    super(
      `These operations have ${labels} different groups and tags, and one transaction takes at most ${most}. Send fewer operations at once.`,
      Math.max(1, Math.floor((operations * most) / labels)),
    );
  }
}

/** Further locks of a transaction that has more to do after the edits. */
export interface AlsoPassing {
  /** Schedules whose gates it passes later. */
  schedules: readonly string[];
  /** The parcel that it settles later. */
  parcelId: string;
}

/**
 * Takes all locks of the operations in the global lock order, so that no deadlock is possible. Null
 * if another transaction was faster: a schedule was deleted while this one waited for its locks.
 * `labels`: further labels that an earlier attempt found necessary.
 */
export async function lockMany(
  tx: Tx,
  operations: readonly Operation[],
  {
    labels: more,
    teams,
    also,
    labelsMost,
  }: {
    labels: readonly Label[];
    teams: ReadonlySet<string>;
    also?: AlsoPassing | undefined;
    labelsMost: number;
  },
): Promise<ManyLocked | null> {
  const keys = [...new Set(operations.map(({ key }) => key))];
  const found = await tx<{ id: string; key: string; shard: number; jobless: boolean }[]>`
    select s.id, s.key, s.shard, j.jobless is not null as jobless
    from carillon.schedules s left join ${pulseWithoutJobs(tx)} on true where s.key = any(${keys}::text[]) and s.deleted_at is null`;
  const bodies = await bodiesToCome(tx, operations);
  const labels = distinctLabels([...[...bodies.values()].flatMap(labelsOf), ...more]);
  if (labels.length > labelsMost && operations.length > 1)
    throw new TooManyLabels({
      labels: labels.length,
      operations: operations.length,
      most: labelsMost,
    });
  const made = madeBy(operations, new Set(found.map(({ key }) => key)));
  const ids = await newScheduleIds(tx, made.length);
  const newIds = new Map(made.map((operation, index) => [operation, ids[index] ?? ""]));
  const ofKeys = Map.groupBy(operations, ({ key }) => key);
  const isOnce = ({ key }: { key: string }) => ofKeys.get(key)?.length === 1;
  // A new schedule needs no gate, nor does one without jobs, unless it is edited again.
  const isSpared = (each: { key: string; jobless: boolean }) => each.jobless && isOnce(each);
  const jobless = found.filter(isSpared);
  const gates = [
    ...found.filter((each) => !isSpared(each)).map(({ shard }) => shard),
    ...made.filter((each) => !isOnce(each)).map((operation) => shardOf(newIds.get(operation) ?? "")),
  ];
  const passed = also === undefined ? [] : await shardsOf(tx, also.schedules);
  const foundIds = found.map(({ id }) => id);
  // Separate statements, sent in this order.
  const [, stored, states, teamState, stillJobless] = await Promise.all([
    lockForChange(tx, {
      labels,
      shards: [...found.map(({ shard }) => shard), ...ids.map(shardOf)],
      gates: [...gates, ...passed],
    }),
    lockSchedules(tx, foundIds),
    readShards(tx),
    readTeamState(tx),
    haveNoJobs(
      tx,
      jobless.map(({ id }) => id),
    ),
  ]);
  if (stored.length < found.length || !stillJobless) return null;
  if (also !== undefined) await tx`select from carillon.parcels where id = ${also.parcelId} for share`;
  if (!(await lockReplaced(tx, operations, stored))) return null;
  const toCome = [...bodies].map(([{ key }, body]) => ({ key, body }));
  const keyed = [...toCome, ...keptBodies(operations, bodies, stored)];
  await lockLanesToPass(tx, keyed, stored, teamState);
  const existing = new Map(stored.map((schedule) => [schedule.key, schedule]));
  return { existing, states, newIds, labels, bodies, quota: { state: teamState, locked: teams } };
}

async function shardsOf(tx: Tx, scheduleIds: readonly string[]): Promise<number[]> {
  const rows = await tx<{ shard: number }[]>`
    select distinct shard from carillon.schedules where id = any(${scheduleIds}::bigint[])`;
  return rows.map(({ shard }) => shard);
}

/**
 * Fields of a patch that may change the locks of its schedule. A single patch of a key that names
 * none of them needs only the locks of the stored body, which is then read once.
 */
const lockingFields = [
  "group",
  "serial",
  "tags",
  "target",
  "overlap",
] as const satisfies (keyof ScheduleBody)[];

function mayNeedOtherLocks(operations: readonly Operation[]): boolean {
  return (
    operations.length > 1 ||
    operations.some((each) => each.kind === "patch" && lockingFields.some((name) => named(each.patch, name)))
  );
}

const named = (patch: unknown, name: string) =>
  typeof patch === "object" && patch !== null && Object.hasOwn(patch, name);

async function bodiesToCome(tx: Tx, operations: readonly Operation[]): Promise<Map<Operation, ScheduleBody>> {
  const ofKeys = [...Map.groupBy(operations, ({ key }) => key).values()];
  const patched = ofKeys
    .filter(mayNeedOtherLocks)
    .flatMap((own) => own.flatMap(({ kind, key }) => (kind === "patch" ? [key] : [])).slice(0, 1));
  const seen = new Map((await findSchedules(tx, patched)).map(({ key, body }) => [key, body]));
  const bodies = new Map<Operation, ScheduleBody>();
  for (const operation of operations) {
    const before = seen.get(operation.key);
    const body = operation.kind === "put" ? operation.body : patchedOrNone(before, operation);
    if (body === undefined) continue;
    bodies.set(operation, body);
    // The next operation of the key starts from this body.
    seen.set(operation.key, body);
  }
  return bodies;
}

interface Keyed {
  key: string;
  body: ScheduleBody;
}

/** The stored bodies of schedules whose patch cannot change which locks are needed. */
function keptBodies(
  operations: readonly Operation[],
  bodies: ReadonlyMap<Operation, ScheduleBody>,
  stored: readonly StoredSchedule[],
): Keyed[] {
  const patched = operations.filter((each) => each.kind === "patch" && !bodies.has(each));
  const keys = new Set(patched.map(({ key }) => key));
  return stored.filter(({ key }) => keys.has(key));
}

/** Undefined if the patch is refused: the decision reports the reason. */
function patchedOrNone(before: ScheduleBody | undefined, operation: Operation): ScheduleBody | undefined {
  if (before === undefined || operation.kind !== "patch") return undefined;
  try {
    return patchedBody(before, operation.patch);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/**
 * The puts that may create a schedule: those of a free key, or of a key that an earlier operation
 * deletes. For each such key one of them does, unless it is refused.
 */
function madeBy(operations: readonly Operation[], live: ReadonlySet<string>): Operation[] {
  const existing = new Set(live);
  return operations.filter(({ kind, key }) => {
    if (kind === "delete") existing.delete(key);
    return kind === "put" && !existing.has(key);
  });
}

/** Locks the parcels and lanes of jobs that may be replaced. False if such a job is being moved. */
async function lockReplaced(
  tx: Tx,
  operations: readonly Operation[],
  stored: readonly StoredSchedule[],
): Promise<boolean> {
  const keys = new Set(
    operations.flatMap((each) => (each.kind === "put" && each.ifExists === "replace" ? [each.key] : [])),
  );
  const replaced = stored.flatMap(({ id, key, cadence }) => {
    const at = keys.has(key) ? onceOf(cadence) : null;
    return at === null ? [] : [{ id, occurrence: new Date(at) }];
  });
  if (replaced.length === 0) return true;
  const [row] = await tx<{ locked: boolean }[]>`
    select carillon.lock_parcels_of(${tx.array(replaced.map(({ occurrence }) => occurrence))}::timestamptz[],
      ${replaced.map(({ id }) => id)}::bigint[]) as locked`;
  return row?.locked === true;
}

/** Locks the current and future lanes of the schedules. Nearly all have none. */
async function lockLanesToPass(
  tx: Tx,
  keyed: readonly Keyed[],
  stored: readonly StoredSchedule[],
  teamState: TeamState,
): Promise<void> {
  const grouped = await withTeams(
    tx,
    keyed.filter(({ body }) => body.group !== null),
    stored,
    teamState,
  );
  const willExclude = keyed.some(({ body }) => body.overlap !== "allow");
  // The gate is held, so no new recheck is made meanwhile.
  const rechecked = await withWaitingRechecks(
    tx,
    stored.flatMap(({ id, body }) => ("handler" in body.target ? [id] : [])),
  );
  const passing = stored.filter(
    ({ id, lane, body }) => willExclude || lane !== null || body.overlap !== "allow" || rechecked.has(id),
  );
  if (grouped.length === 0 && passing.length === 0) return;
  await tx`
    select carillon.lock_lanes(${passing.map(({ id }) => id)}::bigint[], array(
      select distinct carillon.lane_for(b.target, b.group_key, b.serial, b.team)
      from unnest(${grouped.map(({ body }) => targetName(body.target))}::text[], ${grouped.map(({ body }) => body.group)}::text[],
        ${grouped.map(({ body }) => body.serial)}::boolean[], ${grouped.map(({ team }) => team)}::int[]) b (target, group_key, serial, team)))`;
}

/**
 * Each body with the team of its schedule: of the stored one, and of one that is made. The first edit
 * of a team may make the team later: its lane has no other jobs then, and is not locked here.
 */
async function withTeams(
  tx: Tx,
  keyed: readonly Keyed[],
  stored: readonly StoredSchedule[],
  state: TeamState,
): Promise<(Keyed & { team: number | null })[]> {
  const keys = keyed.map(({ key }) => key);
  await knowTeams(tx, state, keys);
  const former = new Map(stored.map(({ key, teamId }) => [key, teamId]));
  const each = keyed.map(async ({ key, body }) => {
    const made = (await teamsOf(tx, state, key))[0]?.id ?? null;
    const before = former.has(key) ? [former.get(key) ?? null] : [];
    return [...new Set([...before, made])].map((team) => ({ key, body, team }));
  });
  return (await Promise.all(each)).flat();
}
