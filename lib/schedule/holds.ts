import type { Tx } from "../db/connect.ts";
import { readableEnd, readableStart } from "../db/readable-instants.ts";
import { keptPlan } from "../db/statement.ts";
import { isAside, waitsAside } from "../quarantine/quarantine.ts";
import type { Tried } from "../quarantine/try-rows.ts";

/** The object of a hold: the schedule itself, or a group or tag that it belongs to. */
export type HoldScope = "schedule" | "group" | "tag";

/** The name of a hold of a schedule: an owner has at most one for each scope and name. */
export interface HoldName {
  scope: HoldScope;
  /** The name of the group or tag; empty for a schedule's own hold. */
  name: string;
  owner: string;
}

/** A pause with an owner, a reason and maybe an end. A schedule runs when it has no hold left. */
export interface Hold extends HoldName {
  reason: string | null;
  until: Date | null;
  since: Date;
  /**
   * The prefix of the keys that its maker reached, empty for all. Null for a hold that Carillon has
   * set by itself.
   */
  reach: string | null;
  /** The team of its maker, for the limits of holds. */
  team: string | null;
}

export interface HoldChange {
  set?: readonly Hold[];
  remove?: readonly HoldName[];
}

export function ownHold(owner: string): HoldName {
  return { scope: "schedule", name: "", owner };
}

/** The hold that Carillon sets by itself, on a schedule whose jobs fail in a row. */
export const carillonsOwn: HoldName = ownHold("carillon");

export function isSameHold(a: HoldName, b: HoldName): boolean {
  return a.scope === b.scope && a.name === b.name && a.owner === b.owner;
}

/** The holds after a change, without those that have ended by themselves. */
export function holdsAfter(holds: readonly Hold[], { set = [], remove = [] }: HoldChange, now: Date): Hold[] {
  const gone = [...set, ...remove];
  const left = holds.filter((hold) => !gone.some((each) => isSameHold(each, hold)));
  return [...left, ...set].filter((hold) => hold.until === null || hold.until > now);
}

/**
 * The change of a schedule's holds when `labels` become its labels: holds of labels that it has
 * lost are removed. `brought` are the holds of labels that are new to it.
 */
export function holdsOfLabels(
  holds: readonly Hold[],
  labels: readonly Pick<HoldName, "scope" | "name">[],
  brought: readonly Hold[],
): { set: readonly Hold[]; remove: readonly Hold[] } {
  const left = ({ scope, name }: Hold) =>
    scope !== "schedule" && !labels.some((label) => label.scope === scope && label.name === name);
  return { set: brought, remove: holds.filter(left) };
}

/** The time at which the last hold ends by itself; null if one has no end. */
export function heldUntilOf(holds: readonly Hold[]): Date | null {
  let last: Date | null = null;
  for (const { until } of holds) {
    if (until === null) return null;
    if (last === null || until > last) last = until;
  }
  return last;
}

export async function holdsOf(tx: Tx, scheduleIds: readonly string[]): Promise<Map<string, Hold[]>> {
  const rows = await keptPlan(tx<(Hold & { scheduleId: string })[]>`
    select schedule_id as "scheduleId", scope, name, owner, reason, ${readableEnd(tx, tx`until`)} as until, ${readableStart(tx, tx`since`)} as since, reach, team
    from carillon.holds h where schedule_id = any(${scheduleIds}::bigint[]) order by h.since, scope, name, owner`);
  const byId = Map.groupBy(rows, ({ scheduleId }) => scheduleId);
  const hold = ({ scheduleId: _, ...each }: Hold & { scheduleId: string }): Hold => each;
  return new Map([...byId].map(([id, holds]) => [id, holds.map(hold)]));
}

export async function holdsOfOne(tx: Tx, scheduleId: string): Promise<Hold[]> {
  return (await holdsOf(tx, [scheduleId])).get(scheduleId) ?? [];
}

/** Writes the changed holds of a schedule. A hold that is renewed keeps its `since`. */
export async function writeHolds(
  tx: Tx,
  scheduleId: string,
  { set = [], remove = [] }: HoldChange,
): Promise<void> {
  for (const { scope, name, owner } of remove) {
    await tx`
      delete from carillon.holds
      where schedule_id = ${scheduleId} and scope = ${scope} and name = ${name} and owner = ${owner}`;
  }
  for (const { scope, name, owner, reason, since, until, reach, team } of set) {
    await tx`
      insert into carillon.holds (schedule_id, scope, name, owner, reason, since, until, reach, team, shard)
      select id, ${scope}, ${name}, ${owner}, ${reason}, ${since}, ${until}, ${reach}, ${team}, shard from carillon.schedules where id = ${scheduleId}
      on conflict (schedule_id, scope, name, owner) do update ${renewed(tx)}`;
  }
}

/** A hold that has ended but was not yet removed starts again instead of being renewed. */
const renewed = (tx: Tx) => tx`
  set reason = excluded.reason, until = excluded.until, reach = excluded.reach, team = excluded.team,
    since = case when holds.until <= excluded.since then excluded.since else holds.since end`;

/** Writes different holds for each of these schedules. */
export async function writeHoldsOfEach(
  tx: Tx,
  changes: readonly { scheduleId: string; holds: HoldChange }[],
): Promise<void> {
  const removed = changes.flatMap(({ scheduleId, holds: { remove = [] } }) =>
    remove.map(({ scope, name, owner }) => ({ schedule_id: scheduleId, scope, name, owner })),
  );
  const set = changes.flatMap(({ scheduleId, holds }) =>
    (holds.set ?? []).map((hold) => ({ schedule_id: scheduleId, ...hold })),
  );
  if (removed.length > 0)
    await tx`
      delete from carillon.holds h using json_to_recordset(${JSON.stringify(removed)}::text::json)
        r (schedule_id bigint, scope text, name text, owner text)
      where h.schedule_id = r.schedule_id and h.scope = r.scope and h.name = r.name and h.owner = r.owner`;
  if (set.length > 0)
    await tx`
      insert into carillon.holds (schedule_id, scope, name, owner, reason, since, until, reach, team, shard)
      select h.*, s.shard from json_to_recordset(${JSON.stringify(set)}::text::json)
        h (schedule_id bigint, scope text, name text, owner text, reason text, since timestamptz, until timestamptz, reach text, team text)
      join carillon.schedules s on s.id = h.schedule_id
      on conflict (schedule_id, scope, name, owner) do update ${renewed(tx)}`;
}

/** Writes the same hold for each of these schedules. */
export async function writeHoldOfEach(
  tx: Tx,
  scheduleIds: readonly string[],
  { scope, name, owner, reason, since, until, reach, team }: Hold,
): Promise<void> {
  await tx`
    insert into carillon.holds (schedule_id, scope, name, owner, reason, since, until, reach, team, shard)
    select id, ${scope}, ${name}, ${owner}, ${reason}, ${since}, ${until}, ${reach}, ${team}, shard from carillon.schedules where id = any(${scheduleIds}::bigint[])
    on conflict (schedule_id, scope, name, owner) do update ${renewed(tx)}`;
}

export async function removeHoldOfEach(
  tx: Tx,
  scheduleIds: readonly string[],
  { scope, name, owner }: HoldName,
): Promise<void> {
  await tx`
    delete from carillon.holds
    where schedule_id = any(${scheduleIds}::bigint[]) and scope = ${scope} and name = ${name} and owner = ${owner}`;
}

export async function removeHolds(tx: Tx, scheduleIds: readonly string[]): Promise<void> {
  await tx`delete from carillon.holds where schedule_id = any(${scheduleIds}::bigint[])`;
}

/**
 * The audit's detail of a hold `h` that ended by itself. The entry belongs to the version that was
 * current then, and `ended` tells it from a release by a caller.
 */
export const endedDetail = (tx: Tx) => tx`
  jsonb_build_object('owner', h.owner, 'reason', h.reason, 'ended', true,
    'until', to_char(h.until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  || case when h.scope = 'schedule' then '{}' else jsonb_build_object(h.scope, h.name) end`;

/** The version of the schedule of a hold `h` when that hold ended. */
export const versionAtEnd = (tx: Tx) => tx`(
  select v.version from carillon.schedule_versions v
  where v.schedule_id = h.schedule_id and v.changed_at < h.until order by v.version desc limit 1)`;

/** Removes holds whose end has passed. Each leaves an entry in the audit, dated at its end. */
export async function removeEndedHolds(tx: Tx, scheduleIds: readonly string[], now: Date): Promise<void> {
  if (scheduleIds.length === 0) return;
  await tx`
    with ended as (
      delete from carillon.holds where schedule_id = any(${scheduleIds}::bigint[]) and until <= ${now} returning *
    )
    insert into carillon.audit (at, actor, action, subject, schedule_id, version, detail)
    select h.until, ${carillonsOwn.owner}, 'schedule.resumed', s.key, s.id, coalesce(${versionAtEnd(tx)}, s.version), ${endedDetail(tx)}
    from ended h join carillon.schedules s on s.id = h.schedule_id`;
}

export interface EndedHold extends Tried {
  shard: number;
}

/**
 * Schedules with holds whose end has passed, the oldest first, except the schedules `without` and
 * those of the shards `notOf`. Schedules that could not be planned are left out: their occurrences
 * passed over under the hold are recorded once they can be planned. The clock is read once, in a
 * query of its own, so that the index can be searched with its value.
 */
export function schedulesWithEndedHolds(
  tx: Tx,
  {
    limit,
    without = [],
    notOf = [],
  }: { limit: number; without?: readonly string[]; notOf?: readonly number[] },
): PromiseLike<EndedHold[]> {
  const id = tx`h.schedule_id`;
  return tx<EndedHold[]>`
    select distinct id as item, id as "scheduleId", shard, aside from (
      select s.id, s.shard, ${isAside(tx, "ended-hold", id)} as aside
      from carillon.holds h cross join lateral (
        select id, shard from carillon.schedules where id = h.schedule_id and coalesce(deleted_at, 'infinity') = 'infinity' offset 0) s
      where h.until <= (select carillon.clock()) and s.shard <> all (${[...notOf]}::smallint[]) and s.id <> all (${[...without]}::bigint[])
        and not ${waitsAside(tx, "ended-hold", id)} and not ${isAside(tx, "plan", id)}
      order by h.until limit ${limit}) ended`;
}
