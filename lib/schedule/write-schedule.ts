import { isDeepStrictEqual } from "node:util";
import type { Tx } from "../db/connect.ts";
import { keptPlan } from "../db/statement.ts";
import { noteUsage, type UsageChange } from "../quota/note-usage.ts";
import { changeBySpec, difference, noUsage, type Usage, usageOf } from "../quota/usage.ts";
import { hasSameCadence, isRelative } from "./resolve-spec.ts";
import type { Author } from "./shape/caller.ts";
import type { Json } from "./shape/json.ts";
import { sameJson } from "./shape/same-json.ts";
import type { StoredSchedule } from "./stored/stored-schedule.ts";
import {
  auditWritten,
  type Held,
  laneOfRow,
  type RaisedVersion,
  ruleOfRow,
  type ScheduleChange,
  type Spec,
  versionsWritten,
  wantedRow,
  wantedRows,
} from "./stored/version-rows.ts";
import { type Raised, raiseUnread } from "./write-many.ts";

export async function newScheduleIds(tx: Tx, count: number): Promise<string[]> {
  if (count === 0) return [];
  const rows = await tx<{ id: string }[]>`
    select nextval('carillon.schedules_id_seq') as id from generate_series(1, ${count})`;
  return rows.map(({ id }) => id);
}

export interface NewSchedule {
  id: string;
  key: string;
  shard: number;
  spec: Spec;
  cadenceId: number | null;
  held: Held | null;
  teamId: number | null;
  /** For the audit, beside the actor and the action. */
  detail?: Json | undefined;
}

/**
 * Inserts in the order of keys: of two transactions that make the same schedules, one waits for the
 * other at the first key.
 */
export async function insertSchedules(
  tx: Tx,
  schedules: readonly (NewSchedule & { author: Author })[],
): Promise<void> {
  if (schedules.length === 0) return;
  const rows = schedules.map(({ author, ...made }) =>
    wantedRow({ ...made, body: made.spec.body, version: 1, specVersion: 1, change: "created" }, author),
  );
  const written = keptPlan(tx`
    with ${wantedRows(tx, rows)}, ${headsInserted(tx)}, ${versionsWritten(tx)}
    ${auditWritten(tx)}`).execute();
  await Promise.all([written, noteNew(tx, schedules)]);
}

const headsInserted = (tx: Tx) => tx`
    heads as (
      insert into carillon.schedules (id, key, version, spec_version, shard, queue, held_since, held_until, group_key, tags, target_kind, target_id,
        calendar_id, max_fires, fires, overlap, deadline_ms, lane, priority, hold_after, end_look_at,
        rule, phase, lagged, team_id, per_year, payload_bytes, created_at, created_by, updated_at, updated_by)
      select w.id, w.key, w.version, w.spec_version, w.shard, w.queue, w.held_since, w.held_until, w.group_key, coalesce(w.tags, '{}'), w.target_kind, t.id,
        w.calendar_id, w.max_fires, case when w.max_fires is not null then 0 end, w.overlap, w.deadline_ms,
        ${laneOfRow(tx, tx`w.team_id`)}, w.priority, w.hold_after, w.end_look_at,
        ${ruleOfRow(tx)}, coalesce(w.phase, 0), w.lagged, w.team_id, w.per_year, w.payload_bytes, w.at, w.actor, w.at, w.actor
      from wanted w join named t on t.name = w.target_name order by w.key
    )`;

/** A schedule of another installation, at the version that has its spec. */
export type ArrivedSchedule = NewSchedule & { author: Author; version: number; change: ScheduleChange };

/** As `insertSchedules`. The next version of each schedule has its audit entry. */
export async function insertArrived(tx: Tx, schedules: readonly ArrivedSchedule[]): Promise<void> {
  const rows = schedules.map(({ author, version, change, ...made }) =>
    wantedRow({ ...made, body: made.spec.body, version, specVersion: version, change }, author),
  );
  const written = tx`
    with ${wantedRows(tx, rows)}, ${headsInserted(tx)}, ${versionsWritten(tx)} select`.execute();
  await Promise.all([written, noteNew(tx, schedules)]);
}

function noteNew(tx: Tx, schedules: readonly NewSchedule[]): Promise<void> {
  return noteUsage(
    tx,
    schedules.map(({ id, teamId, spec }) => ({
      teamId,
      scheduleId: id,
      change: changeBySpec(noUsage, spec),
    })),
  );
}

export async function raiseVersion(
  tx: Tx,
  current: StoredSchedule,
  raised: RaisedVersion,
  author: Author,
): Promise<Raised> {
  const done =
    current.unread !== null && raised.spec === undefined
      ? await raiseUnread(tx, current.id, raised, author)
      : (await raiseVersions(tx, [{ current, raised, author }])).get(current.id);
  if (done === undefined) throw new Error(`Schedule ${current.id} is missing although it is locked.`);
  return done;
}

/**
 * An edit to write. If a batch has several of one schedule, only the last one writes the head; the
 * others are marked by `isBetween`.
 */
export interface Raising {
  current: StoredSchedule;
  raised: RaisedVersion;
  author: Author;
  isBetween?: boolean;
}

/**
 * Raises the versions of the schedules, by id. Plan rows and pending jobs of the old versions are
 * then no longer valid.
 */
export async function raiseVersions(tx: Tx, edits: readonly Raising[]): Promise<Map<string, Raised>> {
  if (edits.length === 0) return new Map();
  const fresh = new Map<string, number>();
  const rows = edits.map(({ current, raised, author, isBetween = false }) => {
    const { id, key, shard } = current;
    const version = current.lastVersion + 1;
    const specVersion = raised.spec === undefined ? current.specVersion : version;
    const body = raised.spec?.body ?? current.body;
    if (asksForElse(current, raised)) fresh.set(id, version);
    const freshVersion = fresh.get(id);
    return wantedRow(
      { ...raised, id, key, shard, version, specVersion, body, freshVersion, isBetween },
      author,
    );
  });
  const written = keptPlan(tx<(Raised & { id: string })[]>`
    with ${wantedRows(tx, rows)},
    heads as (
      update carillon.schedules s
      set version = w.version, spec_version = w.spec_version, held_since = w.held_since, held_until = w.held_until, queue = w.queue,
        calendar_id = case when w.spec then w.calendar_id else s.calendar_id end,
        rule = case when w.spec then ${ruleOfRow(tx)} else s.rule end, phase = case when w.spec then coalesce(w.phase, 0) else s.phase end,
        lagged = case when w.spec then w.lagged else s.lagged end,
        per_year = case when w.spec then w.per_year else s.per_year end,
        payload_bytes = case when w.spec then w.payload_bytes else s.payload_bytes end,
        max_fires = w.max_fires, fires = case when w.max_fires is not null then coalesce(s.fires, 0) end,
        overlap = w.overlap, deadline_ms = w.deadline_ms, lane = ${laneOfRow(tx, tx`s.team_id`)}, priority = w.priority, hold_after = w.hold_after,
        end_look_at = w.end_look_at, fresh_version = coalesce(w.fresh_version, s.fresh_version), deleted_at = w.deleted_at,
        group_key = w.group_key, tags = coalesce(w.tags, '{}'), target_kind = w.target_kind, target_id = t.id, updated_at = w.at, updated_by = w.actor
      from wanted w join named t on t.name = w.target_name
      where s.id = w.id and w.between is null
      returning s.id, s.version, s.fires, s.lane
    ),
    ${versionsWritten(tx)},
    told as (${auditWritten(tx)})
    select id, version, fires, lane from heads`).execute();
  const [done] = await Promise.all([written, noteUsage(tx, edits.map(usageChange))]);
  return new Map(done.map(({ id, ...raised }) => [id, raised]));
}

/** The change of what the team of the schedule uses, by a raised version. */
function usageChange({ current, raised }: Pick<Raising, "current" | "raised">): UsageChange {
  return { teamId: current.teamId, scheduleId: current.id, change: changeBy(current, raised) };
}

function changeBy(current: StoredSchedule, { change, spec, deleted }: RaisedVersion): Usage {
  const before = usageOf(current, current.payloadBytes ?? 0);
  if (deleted === true) return difference(before, noUsage);
  if (spec === undefined) return noUsage;
  const changed = changeBySpec(before, spec);
  // New rules of a calendar or a zone have caused it, which no team can change.
  return change === "replanned" ? { ...changed, writtenBytes: 0 } : changed;
}

/** Takes off holds that have ended by themselves. The version stays, since nothing was edited. */
export async function noteResumed(tx: Tx, scheduleIds: readonly string[]): Promise<void> {
  if (scheduleIds.length === 0) return;
  await tx`update carillon.schedules set held_since = null, held_until = null where id = any(${scheduleIds}::bigint[])`;
}

/**
 * Whether an edit ends the rechecks of the version before it: with another time, target or payload
 * it asks for something else. A cadence that was planned again because its calendar or zone has
 * newer rules counts as the same.
 */
export function asksForElse(
  current: StoredSchedule,
  { change, spec }: Pick<RaisedVersion, "change" | "spec">,
): boolean {
  if (spec === undefined || change === "replanned") return false;
  const { body, cadence } = spec;
  const sameWhen =
    isDeepStrictEqual(cadence, current.cadence) || (hasSameCadence(body, current.body) && !isRelative(body));
  return !(
    sameWhen &&
    sameJson(body.target, current.body.target) &&
    sameJson(body.payload, current.body.payload)
  );
}
