import { leavesOut, nextAfter, previousBefore } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import { countWithin } from "../cadence/count-within.ts";
import type { Tx } from "../db/connect.ts";

/**
 * Deletes the jobs of a cadence that are not due yet at the cut: they never started, and are
 * planned again. The cadence gives the possible occurrences, so each is looked up by its primary
 * key. Jobs that a calendar skipped ahead of their time are deleted too. It is a statement of its
 * own, before the next version is planned: in one statement, the new row would conflict with the
 * old one in the same snapshot, and the withdrawn job would stay.
 */
export async function withdraw(
  tx: Tx,
  scheduleId: string,
  cadence: Cadence,
  { after, upTo, cut }: { after: number; upTo: number; cut: Date },
): Promise<void> {
  await withdrawAt(tx, scheduleId, occurrencesWithin(cadence, after, upTo), cut);
  await withdrawLeftOut(tx, [{ scheduleId, cadence, after }]);
}

/** A schedule whose occurrences after an instant are withdrawn. */
export interface LeavingOut {
  scheduleId: string;
  cadence: Cadence;
  after: number;
}

/**
 * Shortens ranges: occurrences that a calendar skips are noted ahead of time, many of them as one
 * range. Only the part up to `after` stays.
 */
export async function withdrawLeftOut(tx: Tx, schedules: readonly LeavingOut[]): Promise<void> {
  const leaving = schedules.filter(({ cadence }) => leavesOut(cadence));
  if (leaving.length === 0) return;
  const ids = leaving.map(({ scheduleId }) => scheduleId);
  const afters = tx.array(leaving.map(({ after }) => new Date(after)));
  const ranges = await tx<{ scheduleId: string; from: Date; notedAt: Date }[]>`
    delete from carillon.passed_over where ctid = any(array(
      select r.ctid from unnest(${ids}::bigint[], ${afters}::timestamptz[]) l (id, after) cross join lateral (
        select p.ctid from carillon.passed_over p where p.schedule_id = l.id and p.reason = 'calendar' and p.to_at > l.after offset 0) r))
    returning schedule_id as "scheduleId", from_at as from, noted_at as "notedAt"`;
  const byId = new Map(leaving.map((each) => [each.scheduleId, each]));
  for (const { scheduleId, from, notedAt } of ranges) {
    const { cadence, after } = byId.get(scheduleId) ?? {};
    if (cadence === undefined || after === undefined) continue;
    const last = previousBefore(cadence, after + 1);
    const { count, more } = countWithin(cadence, from.getTime() - 1, after);
    if (last === null || count === 0) continue;
    await tx`
      insert into carillon.passed_over (schedule_id, from_at, to_at, count, more, reason, noted_at, shard)
      select id, ${from}, ${new Date(last)}, ${count}, ${more}, 'calendar', ${notedAt}, shard from carillon.schedules where id = ${scheduleId}`;
  }
}

/**
 * As `withdraw`, for a cadence that cannot be read any more: its jobs are found by their rows.
 * Waiting jobs are in parcels of their shard, which are few beside the jobs of the same minutes.
 * Jobs that a calendar skipped are in no parcel, and are searched among those jobs.
 */
export async function withdrawUnread(
  tx: Tx,
  { id, shard, cadence }: { id: string; shard: number; cadence: Cadence },
  { after, upTo, cut }: { after: number; upTo: number; cut: Date },
): Promise<void> {
  const from = new Date(after);
  const isLeftOut = leavesOut(cadence);
  const leftOut = isLeftOut
    ? tx`
      union all
      select occurrence from carillon.jobs
      where occurrence > ${from} and occurrence <= ${new Date(upTo)} and schedule_id = ${id} and kind = 'cadence' and n = 0
        and state = 'skipped' and reason = 'calendar'`
    : tx``;
  const rows = await tx<{ occurrence: Date }[]>`
    select k.occurrence from carillon.parcels_of(array[${id}::bigint]) own (id) join carillon.parcels p on p.id = own.id
    cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds) k (occurrence, schedule_id, kind)
    where p.shard = ${shard} and k.schedule_id = ${id} and coalesce(k.kind, 'cadence') = 'cadence'
      and k.occurrence > ${from}
    ${leftOut}`;
  await withdrawAt(
    tx,
    id,
    rows.map(({ occurrence }) => occurrence),
    cut,
  );
  if (isLeftOut)
    await tx`
      delete from carillon.passed_over where schedule_id = ${id} and reason = 'calendar' and from_at > ${from}`;
}

/** As `withdraw`, for occurrences that the caller knows. */
export async function withdrawAt(tx: Tx, scheduleId: string, occurrences: Date[], cut: Date): Promise<void> {
  if (occurrences.length === 0) return;
  await tx`
    with withdrawn as (
      delete from carillon.jobs
      where occurrence = any(${tx.array(occurrences)}::timestamptz[]) and schedule_id = ${scheduleId} and kind = 'cadence' and n = 0
        and (state = 'waiting' and attempt = 0 or state = 'skipped' and reason = 'calendar') and due_at > ${cut}
      returning state)
    update carillon.schedules set fires = fires - (select count(*)::int from withdrawn where state = 'waiting')
    where id = ${scheduleId} and max_fires is not null and exists (select from withdrawn)`;
}

/**
 * Deletes jobs that were made ahead of the end of a hold. Their occurrences are resolved again when
 * the hold ends.
 */
export async function withdrawReleased(
  tx: Tx,
  scheduleId: string,
  {
    released,
    heldSince,
    heldUntil,
  }: {
    /**
     * The occurrences of the jobs. Null for all jobs that were made for this end, if the cadence
     * cannot be read.
     */
    released: readonly Date[] | null;
    heldSince: Date;
    heldUntil: Date;
  },
): Promise<void> {
  await tx`
    with withdrawn as (
      delete from carillon.jobs j
      using carillon.parcels p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
      where p.held_schedule = ${scheduleId} and j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
        and j.kind = 'cadence' and coalesce(k.kind, 'cadence') = 'cadence' and j.n = 0
        and j.state = 'waiting' and j.attempt = 0 and j.parcel_id = p.id
        ${released === null ? tx`` : tx`and j.occurrence = any(${tx.array([...released])}::timestamptz[])`} and j.due_at > ${heldSince}
      returning 1
    ), owed as (
      delete from carillon.backlog
      where schedule_id = ${scheduleId} and kind = 'cadence' and taken = 0 and turn_at = ${heldUntil} and dues[1] > ${heldSince}
      returning cardinality(occurrences) as jobs
    )
    update carillon.schedules
    set fires = fires - (select count(*)::int from withdrawn) - coalesce((select sum(jobs)::int from owed), 0)
    where id = ${scheduleId} and max_fires is not null`;
}

/** As `withdrawAt`, for many schedules. */
export async function withdrawEach(
  tx: Tx,
  planned: readonly { scheduleId: string; occurrences: readonly Date[] }[],
  cut: Date,
): Promise<void> {
  const each = planned.flatMap(({ scheduleId, occurrences }) =>
    occurrences.map((occurrence) => ({ scheduleId, occurrence })),
  );
  if (each.length === 0) return;
  await tx`
    with withdrawn as (
      delete from carillon.jobs j
      using unnest(${tx.array(each.map(({ occurrence }) => occurrence))}::timestamptz[],
        ${each.map(({ scheduleId }) => scheduleId)}::bigint[]) p (occurrence, schedule_id)
      where j.occurrence = p.occurrence and j.schedule_id = p.schedule_id and j.kind = 'cadence' and j.n = 0
        and (j.state = 'waiting' and j.attempt = 0 or j.state = 'skipped' and j.reason = 'calendar') and j.due_at > ${cut}
      returning j.schedule_id, j.state)
    update carillon.schedules s set fires = s.fires - w.jobs
    from (select schedule_id, count(*)::int as jobs from withdrawn where state = 'waiting' group by 1) w
    where s.id = w.schedule_id and s.max_fires is not null`;
}

export function occurrencesWithin(cadence: Cadence, after: number, upTo: number): Date[] {
  const found: Date[] = [];
  for (let at = nextAfter(cadence, after); at !== null && at <= upTo; at = nextAfter(cadence, at))
    found.push(new Date(at));
  return found;
}
