import type { Sql, Tx } from "../db/connect.ts";
import { handOver } from "../parcel/hand-over.ts";
import { laneRules, rearrangeLanes } from "../parcel/lanes.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { lockForEdit } from "../plan/edit.ts";
import { attemptsMax, type EditDeps, mayPass } from "../plan/edit-transaction.ts";
import { targetName } from "../schedule/target-name.ts";

const pageMax = 500;
/** A schedule that was being made by the trait of before is seen by then. */
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

interface Follower {
  id: string;
  shard: number;
}

/**
 * Where a handler that took jobs of a group one by one takes them together now, or the other way round, its schedules' lanes follow, one
 * schedule after the other. Nearly always there is no such handler. It may be killed anywhere: who has followed is found no more.
 */
export async function followHandlers(deps: EditDeps, run: Following): Promise<void> {
  const regrouped = await deps.sql<Regrouped[]>`
    select id, name, regrouped_at as "regroupedAt", regrouped_at + ${settledAfter}::interval < carillon.clock() as "isSettled"
    from carillon.targets where regrouped_at is not null order by id`;
  for (const handler of regrouped) {
    if (run.timeIsUp()) return;
    await followOne(deps, handler, run).catch(run.note);
  }
}

async function followOne(deps: EditDeps, handler: Regrouped, { timeIsUp, note }: Following): Promise<void> {
  let failed = false;
  for (let after = "0"; ; ) {
    const page = await followersBehind(deps.sql, handler, after);
    for (const follower of page) {
      if (timeIsUp()) return;
      await follow(deps, follower).catch((error: unknown) => {
        note(error);
        failed = true;
      });
    }
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.id;
  }
  if (!handler.isSettled || failed) return;
  await deps.sql`
    update carillon.targets set regrouped_at = null where id = ${handler.id} and regrouped_at = ${handler.regroupedAt}`;
}

/** Those whose lane is not what the handler's trait makes of it. */
function followersBehind(sql: Sql, { id, name }: Regrouped, after: string): PromiseLike<Follower[]> {
  return sql<Follower[]>`
    select s.id, s.shard from carillon.schedules s
    join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    where s.target_id = ${id} and s.target_kind = 'handler' and s.group_key is not null and s.deleted_at is null and s.id > ${after}
      and s.lane is distinct from carillon.lane_for(${name}, s.group_key, coalesce((v.body ->> 'serial')::boolean, false))
    order by s.id limit ${pageMax}`;
}

async function follow({ sql, queue }: EditDeps, follower: Follower): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      const parcels = await sql.begin((tx) => followOnce(tx, follower));
      return handOver(sql, queue, parcels);
    } catch (error) {
      if (!mayPass(error) || attempt === attemptsMax) throw error;
    }
  }
}

/** Under the locks of an edit, though its version stays: nobody asked for anything else. */
async function followOnce(tx: Tx, follower: Follower): Promise<OutgoingParcel[]> {
  const context = await lockForEdit(tx, follower);
  if (context === null) return [];
  const { current, state } = context;
  const { body, heldSince, heldUntil } = current;
  const [row] = await tx<{ lane: string | null }[]>`
    update carillon.schedules set lane = carillon.lane_for(${targetName(body.target)}, ${body.group}, ${body.serial})
    where id = ${current.id} returning lane`;
  if (row === undefined) throw new Error(`Schedule ${current.id} is gone under its lock.`);
  return rearrangeLanes(tx, current, {
    before: laneRules(current),
    after: laneRules({ body, lane: row.lane }),
    cut: state.now,
    isHeld: heldSince !== null && (heldUntil === null || heldUntil > state.now),
  });
}
