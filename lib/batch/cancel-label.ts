import type { Tx } from "../db/connect.ts";
import { retrying } from "../db/retrying.ts";
import { actInHalves, beginPart, type Part, timeOfCall } from "../edit/act-in-halves.ts";
import { afterEndedHold, applyEdit } from "../edit/apply-edit.ts";
import { editConflicts } from "../edit/edit-conflicts.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { lockForChange } from "../edit/lock-for-change.ts";
import type { Log } from "../log/log.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { readShard } from "../plan/shard.ts";
import { unfoldingInTime } from "../plan/unfolding-time.ts";
import { highestCharacter } from "../schedule/filter-schedules.ts";
import { type Caller, originText } from "../schedule/shape/caller.ts";
import { type Label, labelsBesides, labelsOf } from "../schedule/shared-holds.ts";
import { lockSchedules } from "../schedule/stored/stored-schedule.ts";

export interface CancelLabelParams {
  label: Label;
  caller: Caller;
  reason?: string | undefined;
  /** The key prefix that the caller may access; all keys if left out. */
  prefix?: string | undefined;
  /** The key at which the previous call ended. */
  after?: string | undefined;
}

export interface LabelCancelled {
  /** Schedules deleted by this call. */
  done: number;
  /** Number of their jobs that are running: their workers are notified to stop. */
  running: number;
  /** Number of members left unchanged: the database failed on each alone. */
  failed: number;
  /** Set if members are left: the place to continue from. */
  next?: string;
}

export interface CancelBounds {
  most: number;
  timeIsUp: () => boolean;
}

/** The most schedules that one call deletes before it answers. */
export const cancelledMost = 10_000;
const pageMax = 1_000;
/**
 * The most schedules of a shard that one transaction deletes. Claims of the shard wait meanwhile.
 */
const batchMax = 25;

/**
 * Deletes the schedules of a group or a tag, shard by shard. Their waiting jobs and retries are
 * cancelled, and running jobs are asked to stop. The call may be killed anywhere: the next call
 * finds the members that are left. Holds of the label stay. A schedule that cannot be deleted does
 * not stop the others.
 */
export async function cancelLabel(
  deps: EditDeps & { log: Log },
  params: CancelLabelParams,
  bounds: CancelBounds = boundsOfCall(),
): Promise<LabelCancelled> {
  if (params.after === undefined) await deps.sql.begin((tx) => noteCancel(tx, params));
  const counts = { done: 0, running: 0, failed: 0 };
  let after = params.after ?? "";
  for (;;) {
    const page = await membersBehind(deps.sql, params, after, Math.min(pageMax, bounds.most - counts.done));
    const { tried, ...done } = await deletePage(deps, params, page, bounds.timeIsUp);
    counts.done += done.deleted;
    counts.running += done.running;
    counts.failed += done.failed;
    // The first member of the page is always tried, so that a repeated call gets past a member that
    // cannot be deleted.
    const firstLeft = page.findIndex(({ id }) => !tried.has(id));
    if (firstLeft >= 0) return { ...counts, next: page[firstLeft - 1]?.key ?? after };
    const last = page.at(-1);
    if (last === undefined) return counts;
    after = last.key;
    if (counts.done >= bounds.most) return { ...counts, next: after };
  }
}

async function deletePage(
  deps: EditDeps & { log: Log },
  params: CancelLabelParams,
  page: readonly Member[],
  timeIsUp: () => boolean,
): Promise<{ deleted: number; running: number; failed: number; tried: ReadonlySet<string> }> {
  const counts = { deleted: 0, running: 0, failed: 0 };
  const tried = new Set<string>();
  const act = async (some: readonly Member[], part: Part) => {
    const { deleted, running } = await deleteBatch(deps, params, some, part);
    counts.deleted += deleted;
    counts.running += running;
  };
  for (const batch of batches(page)) {
    if (tried.size > 0 && timeIsUp()) break;
    const acted = await actInHalves(batch, {
      log: deps.log,
      event: "schedule.not-deleted",
      named: ({ key }) => ({ key }),
      act,
      timeIsUp,
    });
    counts.failed += acted.failed;
    for (const { id } of batch.slice(0, acted.tried)) tried.add(id);
  }
  return { ...counts, tried };
}

function boundsOfCall(): CancelBounds {
  return { most: cancelledMost, timeIsUp: timeOfCall() };
}

interface Member {
  id: string;
  key: string;
  shard: number;
}

function membersBehind(
  tx: Tx,
  { label: { scope, name }, prefix = "" }: CancelLabelParams,
  after: string,
  limit: number,
): PromiseLike<Member[]> {
  const to = prefix + highestCharacter;
  if (scope === "tag")
    return tx<Member[]>`
      select s.id, s.key, s.shard from carillon.schedule_tags t
      cross join lateral (select * from carillon.schedules s where s.key = t.key and s.deleted_at is null offset 0) s
      where t.tag = ${name} and t.key > ${after} and t.key >= ${prefix} and t.key < ${to} order by t.key limit ${limit}`;
  return tx<Member[]>`
    select id, key, shard from carillon.schedules
    where deleted_at is null and group_key = ${name} and key > ${after} and key >= ${prefix} and key < ${to} order by key limit ${limit}`;
}

function batches(page: readonly Member[]): Member[][] {
  return [...Map.groupBy(page, ({ shard }) => shard).values()].flatMap((ofShard) =>
    Array.from({ length: Math.ceil(ofShard.length / batchMax) }, (_, n) =>
      ofShard.slice(n * batchMax, (n + 1) * batchMax),
    ),
  );
}

async function deleteBatch(
  { sql, queue }: EditDeps,
  params: CancelLabelParams,
  members: readonly Member[],
  part: Part,
): Promise<{ deleted: number; running: number }> {
  return retrying(editConflicts, async () => {
    const { parcels, ...done } = await unfoldingInTime(queue.timing, members.length, () =>
      beginPart(sql, part, (tx) => deleteTogether(tx, params, members)),
    );
    await handOver(sql, queue, parcels);
    return done;
  });
}

/**
 * One edit of each schedule, with the same locks for all. A schedule that has left the label
 * meanwhile stays unchanged.
 */
async function deleteTogether(
  tx: Tx,
  { label, caller, reason }: CancelLabelParams,
  members: readonly Member[],
): Promise<{ deleted: number; running: number; parcels: OutgoingParcel[] }> {
  const shard = members[0]?.shard ?? 0;
  // Separate statements, each with its own snapshot, sent in this order.
  const [, schedules, state] = await Promise.all([
    lockForChange(tx, { shards: [shard] }),
    lockSchedules(
      tx,
      members.map(({ id }) => id),
    ),
    readShard(tx, shard),
  ]);
  const found = schedules.filter(({ body }) => labelsBesides([label], labelsOf(body)).length === 0);
  const running = await askToStop(
    tx,
    shard,
    found.map(({ id }) => id),
  );
  // All lanes at once, in their order: edits one after the other would lock them in the order of
  // the schedules.
  await tx`select carillon.lock_lanes(${found.map(({ id }) => id)}::bigint[])`;
  const detail = { [label.scope]: label.name, ...(reason === undefined ? {} : { reason }) };
  const parcels: OutgoingParcel[] = [];
  for (const each of found) {
    const current = await afterEndedHold(tx, each, state);
    const edit = { change: "deleted", delete: true, detail } as const;
    parcels.push(...(await applyEdit(tx, { current, state }, edit, [], caller)));
  }
  return { deleted: found.length, running, parcels };
}

/**
 * Asks the running jobs of these schedules to stop, and returns their number. The lock order
 * requires that this comes before any lane, and that parcels are locked before their jobs.
 */
async function askToStop(tx: Tx, shard: number, ids: string[]): Promise<number> {
  // Among parcels of other shards, only laned ones can hold jobs of this shard.
  const parcels = await tx<{ id: string }[]>`
    select id from carillon.parcels
    where id in (select carillon.parcels_of(${ids}::bigint[])) and lease_until is not null and (shard = ${shard} or laned)
    order by id for update`;
  if (parcels.length === 0) return 0;
  const asked = await tx`
    update carillon.jobs j set cancel_asked = true
    from carillon.parcels p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    where p.id = any(${parcels.map(({ id }) => id)}::bigint[]) and p.lease_until is not null and k.schedule_id = any(${ids}::bigint[])
      and j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
      and j.state = 'waiting' and j.parcel_id = p.id
    returning 1`;
  return asked.length;
}

async function noteCancel(tx: Tx, { label, caller, reason, prefix = "" }: CancelLabelParams): Promise<void> {
  await tx`
    insert into carillon.audit (at, actor, action, subject, detail, origin, prefix)
    values (carillon.clock(), ${caller.name}, ${`${label.scope}.cancelled`}, ${label.name},
      ${reason === undefined ? null : JSON.stringify({ reason })}::text::jsonb, ${originText(caller)}::text::jsonb, ${prefix})`;
}
