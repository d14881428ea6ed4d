import type { Zone } from "../cadence/zone/zone-spans.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { isNewer, type StoredOffsets, storedZone, type ZoneData, zonesThatDiffer } from "./zone-data.ts";

/**
 * A release of the zone data that was newer than the previous one, and how far the schedules are
 * planned by it.
 */
export interface ZoneUpdate {
  id: number;
  version: string;
  fromVersions: string[];
  zones: string[];
  /** Schedules up to this id were checked; null if no round is under way. */
  after: string | null;
  /**
   * The round is the first one, which takes a few schedules of each team. Otherwise thousands of one
   * team would keep those of another on the earlier rules.
   */
  takesFew: boolean;
  /** A round is under way or due. */
  open: boolean;
}

const updateColumns = (tx: Tx) => tx`
  id, version, from_versions as "fromVersions", zones, replan_after as after, takes_few as "takesFew",
  replan_after is not null or coalesce(look_again_at <= carillon.clock(), false) as open`;

/** The release in force; null in a new database. Every tick reads it. */
export async function latestZoneUpdate(tx: Tx): Promise<ZoneUpdate | null> {
  const [row] = await tx<ZoneUpdate[]>`
    select ${updateColumns(tx)} from carillon.zone_updates order by id desc limit 1`;
  return row ?? null;
}

export async function findZoneData(tx: Tx, version: string): Promise<ZoneData | null> {
  const [row] = await tx<ZoneData[]>`
    select version, covers_from as "coversFrom", covers_until as "coversUntil", rules
    from carillon.zone_data where version = ${version}`;
  return row ?? null;
}

/**
 * Puts a release in force, unless another tick has brought it or a newer one meanwhile. If an
 * update before it is unfinished, this one checks the zones of that update too: schedules in them
 * may be planned by the rules of either.
 */
export async function recordZoneData(sql: Sql, data: ZoneData): Promise<ZoneUpdate | null> {
  return sql.begin(async (tx) => {
    await tx`lock table carillon.zone_updates in share row exclusive mode`.execute();
    const [latest] = await tx<(ZoneUpdate & { done: boolean; now: Date })[]>`
      select ${updateColumns(tx)}, replan_after is null and look_again_at is null as done, carillon.clock() as now
      from carillon.zone_updates order by id desc limit 1`;
    if (latest !== undefined && isNewer(data.version, latest.version) !== true) return null;
    const before = latest === undefined ? null : await findZoneData(tx, latest.version);
    const differ = latest === undefined || before === null ? [] : zonesThatDiffer(before, data, latest.now);
    const left = latest === undefined || latest.done ? { zones: [], fromVersions: [] } : latest;
    const zones = [...new Set([...differ, ...left.zones])].sort();
    const fromVersions = latest === undefined ? [] : [...new Set([...left.fromVersions, latest.version])];
    await tx`
      update carillon.zone_updates set replan_after = null, look_again_at = null
      where replan_after is not null or look_again_at is not null`;
    await tx`
      insert into carillon.zone_data (version, covers_from, covers_until, rules)
      values (${data.version}, ${data.coversFrom}, ${data.coversUntil}, ${JSON.stringify(data.rules)}::text::jsonb)`;
    const isPlanned = zones.length === 0;
    const [row] = await tx<ZoneUpdate[]>`
      insert into carillon.zone_updates (version, from_versions, zones, started_at, finished_at, replan_after)
      values (${data.version}, ${fromVersions}, ${zones}, carillon.clock(),
        case when ${isPlanned} then carillon.clock() end, ${isPlanned ? null : 0}::bigint)
      returning ${updateColumns(tx)}`;
    await tx`
      delete from carillon.zone_data where version <> ${data.version} and version <> all(${fromVersions}::text[])`;
    return row ?? null;
  });
}

/**
 * Starts the next round through the schedules if it is due. Returns the id after which the round
 * continues; null if none is due.
 */
export async function beginZoneRound(tx: Tx, { id }: ZoneUpdate): Promise<string | null> {
  const [row] = await tx<{ after: string | null }[]>`
    update carillon.zone_updates
    set replan_after = coalesce(replan_after, 0), look_again_at = null
    where id = ${id} and (replan_after is not null or look_again_at <= carillon.clock())
    returning replan_after as after`;
  return row?.after ?? null;
}

/** Earlier rules by which schedules may be planned that the update has not reached yet. */
export interface EarlierRules {
  version: string;
  zones: ReadonlyMap<string, Zone>;
}

export async function earlierRules(tx: Tx, { fromVersions, zones }: ZoneUpdate): Promise<EarlierRules[]> {
  const rows = await tx<{ version: string; coversUntil: Date; zone: string; offsets: StoredOffsets }[]>`
    select d.version, d.covers_until as "coversUntil", z.key as zone, z.value as offsets
    from carillon.zone_data d cross join lateral jsonb_each(d.rules) z
    where d.version = any(${fromVersions}::text[]) and z.key = any(${zones}::text[])`;
  return [...Map.groupBy(rows, ({ version }) => version)].map(([version, ofVersion]) => ({
    version,
    zones: new Map(
      ofVersion.map(({ zone, offsets, coversUntil }) => [zone, storedZone(zone, offsets, coversUntil)]),
    ),
  }));
}

export interface ZonePage {
  /** The greatest id checked; null after the last schedule. */
  last: string | null;
  /** Schedules that follow the clocks of one of the zones, and the team of each, 0 for none. */
  concerned: string[];
  teams: number[];
}

/**
 * The next schedules by id, bounded even if none is affected. Exact intervals and schedules that
 * are over are not affected; most schedules are in UTC, which is not stored.
 */
export async function nextInZones(
  tx: Tx,
  { zones }: ZoneUpdate,
  after: string,
  limit: number,
): Promise<ZonePage> {
  const [row] = await tx<ZonePage[]>`
    select max(p.id) as last, coalesce(array_agg(p.id order by p.id) filter (where v.concerned), '{}') as concerned,
      coalesce(array_agg(coalesce(p.team_id, 0) order by p.id) filter (where v.concerned), '{}') as teams
    from (
      select id, spec_version, deleted_at, team_id from carillon.schedules where id > ${after}::bigint order by id limit ${limit}
    ) p
    left join lateral (
      select v.body ->> 'timezone' = any(${zones}::text[])
        and (v.cadence_id is not null or v.once_at > carillon.clock()) as concerned
      from carillon.schedule_versions v
      where v.schedule_id = p.id and v.version = p.spec_version and p.deleted_at is null offset 0) v on true`;
  return row ?? { last: null, concerned: [], teams: [] };
}

/**
 * Notes that the schedules up to `to` were checked. False if another tick has already gone on from
 * `from`, or to the next round.
 */
export async function moveZonePlace(
  tx: Tx,
  { id, takesFew }: ZoneUpdate,
  { from, to, checked, failed }: { from: string; to: string; checked: number; failed: boolean },
): Promise<boolean> {
  const { count } = await tx`
    update carillon.zone_updates
    set replan_after = ${to}::bigint, replan_again = replan_again or ${failed},
      checked = checked + case when rounds = 0 and not takes_few then ${checked}::int else 0 end
    where id = ${id} and replan_after = ${from}::bigint and takes_few = ${takesFew}`;
  return count > 0;
}

/** The counts of an update at the end of a round. */
export interface RoundDone {
  checked: number;
  moved: number;
  rounds: number;
}

/**
 * Ends the round of a few schedules of each team, and begins the round of all. Null if another tick
 * did.
 */
export async function endFewRound(tx: Tx, update: ZoneUpdate, from: string): Promise<ZoneUpdate | null> {
  const { count } = await tx`
    update carillon.zone_updates set replan_after = 0, replan_again = false, takes_few = false
    where id = ${update.id} and replan_after = ${from}::bigint and takes_few`;
  return count === 0 ? null : { ...update, takesFew: false };
}

/**
 * Ends a round after the last schedule. Runtimes are updated on different days, so functions with
 * an older one may have planned schedules after this round passed them: further rounds follow a day
 * and a week later. After a failure the next round is soon.
 */
export async function endZoneRound(tx: Tx, { id }: ZoneUpdate, from: string): Promise<RoundDone | null> {
  const [row] = await tx<(RoundDone & { again: boolean })[]>`
    with old as materialized (
      select id, replan_again, rounds from carillon.zone_updates where id = ${id} and replan_after = ${from}::bigint and not takes_few for update
    )
    update carillon.zone_updates u
    set replan_after = null, replan_again = false,
      rounds = u.rounds + case when old.replan_again then 0 else 1 end,
      finished_at = case when old.replan_again then u.finished_at else coalesce(u.finished_at, carillon.clock()) end,
      checked = case when old.replan_again and old.rounds = 0 then 0 else u.checked end,
      look_again_at = carillon.clock() + case when old.replan_again then interval '10 minutes'
        when old.rounds = 0 then interval '1 day' when old.rounds = 1 then interval '7 days' end
    from old where u.id = old.id
    returning u.checked::float8 as checked, u.moved::float8 as moved, u.rounds, old.replan_again as again`;
  return row === undefined || row.again ? null : row;
}
