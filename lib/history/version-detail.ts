import type { Tx } from "../db/connect.ts";

type Fragment = ReturnType<Tx>;

/** The actions of bulk entries in the audit. Written out, so that the planner sees the partial index. */
export const bulkActions = (tx: Tx) =>
  tx`('schedules.paused', 'schedules.resumed', 'schedules.deleted', 'schedules.patched')`;

/**
 * The audit's detail of a version: of its own entry, or of the bulk action that made it.
 * The counts of a bulk action are left out, because they may include schedules that the reader may
 * not see.
 */
export const detailOfVersion = (tx: Tx, version: Fragment) => tx`
  select coalesce((
    select a.detail from carillon.audit a
    where a.schedule_id = ${version}.schedule_id and a.version = ${version}.version and a.action = 'schedule.' || ${version}.change
      and a.detail->'ended' is null order by a.id limit 1
  ), (
    select a.detail - array['done', 'unchanged', 'failed', 'soFar'] from carillon.audit a
    where a.id = ${version}.bulk_id and a.action in ${bulkActions(tx)}
  )) as detail`;
