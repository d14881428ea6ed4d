import type { Sql, Tx } from "../../db/connect.ts";
import { type RetryPolicy, retrying } from "../../db/retrying.ts";
import { lockForEdit } from "../../edit/apply-edit.ts";
import { editConflicts } from "../../edit/edit-conflicts.ts";
import type { EditDeps } from "../../edit/edit-transaction.ts";
import type { Log } from "../../log/log.ts";
import { handOver } from "../../parcel/hand-over.ts";
import { laneRules, rearrangeLanes } from "../../parcel/lanes.ts";
import type { OutgoingParcel } from "../../parcel/parcel-queue.ts";
import { blameOnceLocked, OfNoRow } from "../../quarantine/in-halves.ts";
import { isAside, waitsAside } from "../../quarantine/quarantine.ts";
import { type ShardBounds, type TriedInShard, tryEachInShards } from "../../quarantine/try-rows.ts";
import { targetName } from "../../schedule/shape/target-name.ts";

const pageMax = 500;
/**
 * A put that began under the handler's old setting has committed after this time, so its schedule
 * is found.
 */
const settledAfter = "2 minutes";

interface Regrouped {
  id: number;
  name: string;
  regroupedAt: Date;
  isSettled: boolean;
}

interface Following {
  timeIsUp: () => boolean;
  note: (error: unknown) => void;
}

type FollowDeps = EditDeps & { log: Log };

/**
 * Updates lanes after a handler has become grouped, or is grouped no longer, or after schedules of a
 * grouped handler were assigned to a team. The lanes are changed one schedule after the other. A schedule that fails is set aside, and a
 * shard whose locks are not granted is left until the next tick. There is rarely such a handler.
 * The tick may be killed at any point: the next one finds only the schedules that are not changed
 * yet.
 */
export async function followHandlers(deps: FollowDeps, run: Following): Promise<void> {
  const regrouped = await deps.sql<Regrouped[]>`
    select id, name, regrouped_at as "regroupedAt", regrouped_at + ${settledAfter}::interval < carillon.clock() as "isSettled"
    from carillon.targets where regrouped_at is not null order by id`;
  const bounds = { timeIsUp: run.timeIsUp, note: run.note, left: new Set<number>() };
  for (const handler of regrouped) {
    if (run.timeIsUp()) return;
    await followOne(deps, handler, bounds).catch(run.note);
  }
}

async function followOne(deps: FollowDeps, handler: Regrouped, bounds: ShardBounds): Promise<void> {
  const { sql, log } = deps;
  for (let after = "0"; ; ) {
    const page = await followersBehind(sql, handler, after);
    const quarantine = { sql, log, consumer: "follower" as const };
    await tryEachInShards(quarantine, page, (follower) => follow(deps, follower), bounds);
    if (bounds.timeIsUp()) return;
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.item;
  }
  if (!handler.isSettled) return;
  // A schedule that waits in quarantine still has to be changed.
  await sql`
    update carillon.targets set regrouped_at = null
    where id = ${handler.id} and regrouped_at = ${handler.regroupedAt} and not exists (select ${behind(sql, handler)})`;
}

/** Schedules whose lane does not match the handler's setting and their team. */
const behind = (tx: Tx, { id, name }: Regrouped) => tx`
  from carillon.schedules s
  join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
  where s.target_id = ${id} and s.target_kind = 'handler' and s.group_key is not null and s.deleted_at is null
    and s.lane is distinct from carillon.lane_for(${name}, s.group_key, coalesce(v.body -> 'serial' = 'true', false), s.team_id)`;

function followersBehind(sql: Sql, handler: Regrouped, after: string): PromiseLike<TriedInShard[]> {
  const id = sql`s.id`;
  return sql<TriedInShard[]>`
    select s.id as item, s.id as "scheduleId", s.shard, ${isAside(sql, "follower", id)} as aside
    ${behind(sql, handler)} and s.id > ${after} and not ${waitsAside(sql, "follower", id)}
    order by s.id limit ${pageMax}`;
}

const followConflicts: RetryPolicy = {
  ...editConflicts,
  isRetryable: (error) => editConflicts.isRetryable(error instanceof OfNoRow ? error.cause : error),
};

async function follow({ sql, queue }: EditDeps, { item, shard }: TriedInShard): Promise<void> {
  await retrying(followConflicts, async () => {
    const parcels = await blameOnceLocked((noteLocked) =>
      sql.begin((tx) => followOnce(tx, { id: item, shard }, noteLocked)),
    );
    await handOver(sql, queue, parcels);
  });
}

/** Changes a lane under the locks of an edit, but keeps the version: the spec is the same. */
async function followOnce(
  tx: Tx,
  follower: { id: string; shard: number },
  noteLocked: () => void,
): Promise<OutgoingParcel[]> {
  const context = await lockForEdit(tx, follower, { noteLocked });
  if (context === null) return [];
  const { current, state } = context;
  const { body, heldSince, heldUntil } = current;
  const [row] = await tx<{ lane: string | null }[]>`
    update carillon.schedules set lane = carillon.lane_for(${targetName(body.target)}, ${body.group}, ${body.serial}, team_id)
    where id = ${current.id} returning lane`;
  if (row === undefined) throw new Error(`Schedule ${current.id} is gone under its lock.`);
  return rearrangeLanes(tx, current, {
    before: laneRules(current),
    after: laneRules({ body, lane: row.lane }),
    cut: state.now,
    isHeld: heldSince !== null && (heldUntil === null || heldUntil > state.now),
  });
}
