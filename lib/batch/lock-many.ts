import type { Tx } from "../db/connect.ts";
import { withWaitingRechecks } from "../edit/end-rechecks.ts";
import { lockForChange } from "../edit/lock-for-change.ts";
import { patchedBody } from "../edit/schedule-edits.ts";
import { onceOf } from "../history/planned-job.ts";
import { readShards, type ShardState, shardOf } from "../plan/shard.ts";
import { Refusal } from "../refusal.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { targetName } from "../schedule/shape/target-name.ts";
import { distinctLabels, type Label, labelsOf } from "../schedule/shared-holds.ts";
import { findSchedules, lockSchedules, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { newScheduleIds } from "../schedule/write-schedule.ts";
import type { Operation } from "./operation.ts";
import { haveNoJobs, pulseWithoutJobs } from "./pulses-without-jobs.ts";

/** Everything that the operations will touch, under lock; and one moment, their cut, for all of them. */
export interface ManyLocked {
  /** Those that there are, by key. */
  standing: Map<string, StoredSchedule>;
  states: ReadonlyMap<number, ShardState>;
  /** The ids of those that will be made. */
  newIds: ReadonlyMap<Operation, string>;
  /** Those under which schedules may be brought. */
  labels: readonly Label[];
  /** What schedules will ask for, as far as it can be told before they are locked. */
  bodies: ReadonlyMap<Operation, ScheduleBody>;
}

/** What a transaction locks with them, because it has more to do after them. */
export interface AlsoPassing {
  /** Schedules whose gates it passes later. */
  schedules: readonly string[];
  /** The parcel that it settles later. */
  parcelId: string;
}

/**
 * Takes every lock that the operations will take, in the order in which everybody takes them, so that no circle can close. Null where
 * somebody was quicker: a schedule was deleted while its locks were waited for. `labels`: those of which it turned out that they are needed too.
 */
export async function lockMany(
  tx: Tx,
  operations: readonly Operation[],
  { labels: more, also }: { labels: readonly Label[]; also?: AlsoPassing | undefined },
): Promise<ManyLocked | null> {
  const keys = [...new Set(operations.map(({ key }) => key))];
  const found = await tx<{ id: string; key: string; shard: number; jobless: boolean }[]>`
    select s.id, s.key, s.shard, j.jobless is not null as jobless
    from carillon.schedules s left join ${pulseWithoutJobs(tx)} on true where s.key = any(${keys}::text[]) and s.deleted_at is null`;
  const bodies = await bodiesToCome(tx, operations);
  const labels = distinctLabels([...[...bodies.values()].flatMap(labelsOf), ...more]);
  const made = madeBy(operations, new Set(found.map(({ key }) => key)));
  const ids = await newScheduleIds(tx, made.length);
  const newIds = new Map(made.map((operation, index) => [operation, ids[index] ?? ""]));
  const ofKeys = Map.groupBy(operations, ({ key }) => key);
  const isOnce = ({ key }: { key: string }) => ofKeys.get(key)?.length === 1;
  // A schedule that is made passes no gate, nor does one without jobs, unless it is edited again.
  const isSpared = (each: { key: string; jobless: boolean }) => each.jobless && isOnce(each);
  const jobless = found.filter(isSpared);
  const gates = [
    ...found.filter((each) => !isSpared(each)).map(({ shard }) => shard),
    ...made.filter((each) => !isOnce(each)).map((operation) => shardOf(newIds.get(operation) ?? "")),
  ];
  const passed = also === undefined ? [] : await shardsOf(tx, also.schedules);
  const foundIds = found.map(({ id }) => id);
  // Statements of their own, sent in this order.
  const [, stored, states, stillJobless] = await Promise.all([
    lockForChange(tx, {
      labels,
      shards: [...found.map(({ shard }) => shard), ...ids.map(shardOf)],
      gates: [...gates, ...passed],
    }),
    lockSchedules(tx, foundIds),
    readShards(tx),
    haveNoJobs(
      tx,
      jobless.map(({ id }) => id),
    ),
  ]);
  if (stored.length < found.length || !stillJobless) return null;
  if (also !== undefined) await tx`select from carillon.parcels where id = ${also.parcelId} for share`;
  if (!(await lockReplaced(tx, operations, stored))) return null;
  await lockLanesToPass(tx, [...bodies.values(), ...keptBodies(operations, bodies, stored)], stored);
  const standing = new Map(stored.map((schedule) => [schedule.key, schedule]));
  return { standing, states, newIds, labels, bodies };
}

async function shardsOf(tx: Tx, scheduleIds: readonly string[]): Promise<number[]> {
  const rows = await tx<{ shard: number }[]>`
    select distinct shard from carillon.schedules where id = any(${scheduleIds}::bigint[])`;
  return rows.map(({ shard }) => shard);
}

/**
 * Whether a patch may change which locks its schedule needs. Where one alone comes to a key and names none of these, what stands is
 * enough, and need not be read twice.
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
    // The next one of its key begins where this one ends.
    seen.set(operation.key, body);
  }
  return bodies;
}

/** Of patches that were not looked at before: what locks they need, what stands tells. */
function keptBodies(
  operations: readonly Operation[],
  bodies: ReadonlyMap<Operation, ScheduleBody>,
  stored: readonly StoredSchedule[],
): ScheduleBody[] {
  const patched = operations.filter((each) => each.kind === "patch" && !bodies.has(each));
  const keys = new Set(patched.map(({ key }) => key));
  return stored.flatMap(({ key, body }) => (keys.has(key) ? [body] : []));
}

/** Why it cannot be patched so is told when it is decided. */
function patchedOrNone(before: ScheduleBody | undefined, operation: Operation): ScheduleBody | undefined {
  if (before === undefined || operation.kind !== "patch") return undefined;
  try {
    return patchedBody(before, operation.patch);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** The puts that may make a schedule: where there is none, or none any more after a delete before it. One of them will, if it is not refused. */
function madeBy(operations: readonly Operation[], live: ReadonlySet<string>): Operation[] {
  const standing = new Set(live);
  return operations.filter(({ kind, key }) => {
    if (kind === "delete") standing.delete(key);
    return kind === "put" && !standing.has(key);
  });
}

/** Of jobs that may be replaced: what they wait in and at. False where one is moved at this very moment. */
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

/** The lanes that the schedules have, and those that they will have; none for nearly all. */
async function lockLanesToPass(
  tx: Tx,
  bodies: readonly ScheduleBody[],
  stored: readonly StoredSchedule[],
): Promise<void> {
  const grouped = bodies.filter(({ group }) => group !== null);
  const willExclude = bodies.some(({ overlap }) => overlap !== "allow");
  // Under the gate nobody asks for another recheck.
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
      select distinct carillon.lane_for(b.target, b.group_key, b.serial)
      from unnest(${grouped.map(({ target }) => targetName(target))}::text[], ${grouped.map(({ group }) => group)}::text[],
        ${grouped.map(({ serial }) => serial)}::boolean[]) b (target, group_key, serial)))`;
}
