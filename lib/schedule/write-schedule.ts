import { isDeepStrictEqual } from "node:util";
import type { Cadence } from "../cadence/cadence.ts";
import { durationMs } from "../cadence/duration.ts";
import type { Tx } from "../db/connect.ts";
import { type CalendarRef, plannedColumns } from "./cadence-columns.ts";
import { type Author, originText } from "./caller.ts";
import type { Json } from "./json.ts";
import { queueClass, targetKind } from "./queue-class.ts";
import { hasSameCadence, isRelative } from "./resolve-spec.ts";
import type { ScheduleBody } from "./schedule-body.ts";
import { type StoredSchedule, sparseBody } from "./stored-schedule.ts";
import { targetName } from "./target-name.ts";

export type ScheduleChange =
  | "created"
  | "replaced"
  | "patched"
  | "paused"
  | "resumed"
  | "deleted"
  | "restored"
  | "replanned";

/** What is asked, with its `when` resolved. */
export interface Spec {
  body: ScheduleBody;
  cadence: Cadence;
  /** The version of the calendar it refers to. */
  calendar: CalendarRef | null;
}

export async function newScheduleId(tx: Tx): Promise<string> {
  const [id] = await newScheduleIds(tx, 1);
  if (id === undefined) throw new Error("nextval gave nothing.");
  return id;
}

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
}

/** Since when no occurrence is planned, and until when, where every hold ends by itself. */
export interface Held {
  since: Date;
  until: Date | null;
}

export async function insertSchedule(
  tx: Tx,
  { id, key, shard, spec, cadenceId, held }: NewSchedule,
  author: Author,
): Promise<void> {
  const { body } = spec;
  const asked = askedOf(body);
  await tx`
    insert into carillon.schedules (id, key, shard, queue, held_since, held_until, group_key, tags, target_kind, target_id,
      calendar_id, max_fires, fires, overlap, deadline_ms, lane, priority, hold_after, end_look_at, created_at, created_by, updated_at, updated_by)
    values (${id}, ${key}, ${shard}, ${queueClass(body.target)}, ${held?.since ?? null}, ${held?.until ?? null}, ${body.group}, ${body.tags},
      ${targetKind(body.target)}, carillon.target_named(${targetName(body.target)}), ${spec.calendar?.id ?? null}, ${body.maxFires}, ${body.maxFires === null ? null : 0},
      ${asked.overlap}, ${asked.deadlineMs}, ${laneFor(tx, body)}, ${asked.priority}, ${asked.holdAfter}, ${body.deleteOnEnd ? author.at : null}, ${author.at}, ${author.name}, ${author.at}, ${author.name})`;
  await insertVersion(
    tx,
    {
      scheduleId: id,
      version: 1,
      specVersion: 1,
      change: "created",
      held,
      spec,
      cadenceId,
    },
    author,
  );
}

export interface RaisedVersion {
  change: ScheduleChange;
  spec?: Spec | undefined;
  cadenceId?: number | null | undefined;
  held: Held | null;
  deleted?: boolean | undefined;
  detail?: Json | undefined;
}

/** Raises the schedule's version: plan rows and not yet due jobs of the old one are no longer its own. */
export async function raiseVersion(
  tx: Tx,
  current: StoredSchedule,
  raised: RaisedVersion,
  author: Author,
): Promise<{ version: number; fires: number | null; lane: string | null }> {
  const version = current.version + 1;
  const specVersion = raised.spec === undefined ? current.specVersion : version;
  const body = raised.spec?.body ?? current.body;
  const asked = askedOf(body);
  const fresh = asksForElse(current, raised);
  const [row] = await tx<{ fires: number | null; lane: string | null }[]>`
    update carillon.schedules
    set version = ${version}, spec_version = ${specVersion}, held_since = ${raised.held?.since ?? null},
      held_until = ${raised.held?.until ?? null}, queue = ${queueClass(body.target)},
      ${raised.spec === undefined ? tx`` : tx`calendar_id = ${raised.spec.calendar?.id ?? null},`}
      max_fires = ${body.maxFires}, fires = case when ${body.maxFires}::int is not null then coalesce(fires, 0) end,
      overlap = ${asked.overlap}, deadline_ms = ${asked.deadlineMs}, lane = ${laneFor(tx, body)}, priority = ${asked.priority},
      hold_after = ${asked.holdAfter}, end_look_at = ${body.deleteOnEnd && raised.deleted !== true ? author.at : null}, ${fresh ? tx`fresh_version = ${version},` : tx``}
      deleted_at = ${raised.deleted === true ? author.at : null},
      group_key = ${body.group}, tags = ${body.tags}, target_kind = ${targetKind(body.target)}, target_id = carillon.target_named(${targetName(body.target)}),
      updated_at = ${author.at}, updated_by = ${author.name}
    where id = ${current.id}
    returning fires, lane`;
  if (row === undefined) throw new Error(`Schedule ${current.id} is gone under its lock.`);
  const { change, spec, cadenceId, held, detail } = raised;
  await insertVersion(
    tx,
    {
      scheduleId: current.id,
      version,
      specVersion,
      change,
      held,
      spec,
      cadenceId: cadenceId ?? null,
      detail,
    },
    author,
  );
  return { version, ...row };
}

/** A hold that has ended by itself is taken off; the version stays, since nothing was edited. */
export async function noteResumed(tx: Tx, { id, version, key }: StoredSchedule, at: Date): Promise<void> {
  await tx`update carillon.schedules set held_since = null, held_until = null where id = ${id}`;
  await tx`
    insert into carillon.audit (at, actor, action, subject, schedule_id, version)
    values (${at}, 'carillon', 'schedule.resumed', ${key}, ${id}, ${version})`;
}

interface NewVersion {
  scheduleId: string;
  version: number;
  specVersion: number;
  change: ScheduleChange;
  held: Held | null;
  spec: Spec | undefined;
  cadenceId: number | null;
  /** What the audit says beside who did what. */
  detail?: Json | undefined;
}

async function insertVersion(
  tx: Tx,
  { scheduleId, version, specVersion, change, held, spec, cadenceId, detail }: NewVersion,
  author: Author,
): Promise<void> {
  const cadence = spec === undefined ? null : plannedColumns(spec.cadence);
  await tx`
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, held_until,
      once_at, first_at, every_ms, cadence_id, starts_at, ends_at, body, target, payload)
    values (${scheduleId}, ${version}, ${change}, ${author.at}, ${author.name}, ${specVersion}, ${held !== null}, ${held?.until ?? null},
      ${cadence?.onceAt ?? null}, ${cadence?.firstAt ?? null}, ${cadence?.everyMs ?? null}, ${cadenceId},
      ${cadence?.startsAt ?? null}, ${cadence?.endsAt ?? null},
      ${spec === undefined ? null : jsonText(sparseBody(spec.body))}::text::jsonb,
      ${spec === undefined ? null : jsonText(spec.body.target)}::text::jsonb,
      ${spec === undefined ? null : jsonText(spec.body.payload)}::text::jsonb)`;
  await tx`
    insert into carillon.audit (at, actor, action, subject, schedule_id, version, detail, origin)
    select ${author.at}, ${author.name}, ${`schedule.${change}`}, s.key, s.id, ${version}, ${detail === undefined ? null : jsonText(detail)}::text::jsonb,
      ${originText(author)}::text::jsonb
    from carillon.schedules s where s.id = ${scheduleId}`;
}

export function jsonText(value: unknown): string {
  return JSON.stringify(value);
}

/** What tick, claim and settle look at stands in the head; null where they need not look. */
function askedOf(body: ScheduleBody) {
  const { overlap, deadline, priority, holdAfter } = body;
  return {
    overlap: overlap === "allow" ? null : overlap,
    deadlineMs: deadline === null ? null : durationMs(deadline),
    priority: priority === "normal" ? null : priority === "high" ? -1 : 1,
    holdAfter,
  };
}

/** The lane that its jobs pass because they share a group: whether its handler takes a group together, the database knows. */
function laneFor(tx: Tx, { target, group, serial }: ScheduleBody) {
  return tx`carillon.lane_for(${targetName(target)}, ${group}, ${serial})`;
}

/**
 * Whether rechecks that the version before asked for are over: another time, another target or another payload is another wish. A cadence
 * that is planned anew, because its calendar or zone has newer rules, is the same one.
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
    isDeepStrictEqual(body.target, current.body.target) &&
    isDeepStrictEqual(body.payload, current.body.payload)
  );
}
