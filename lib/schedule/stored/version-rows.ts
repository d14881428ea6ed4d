import type { Cadence } from "../../cadence/cadence-kinds.ts";
import { durationMs } from "../../cadence/duration.ts";
import type { Tx } from "../../db/connect.ts";
import { payloadBytesOf, perYearOf } from "../../quota/usage.ts";
import type { Author } from "../shape/caller.ts";
import type { Json } from "../shape/json.ts";
import { queueClass, targetKind } from "../shape/queue-class.ts";
import type { ScheduleBody } from "../shape/schedule-body.ts";
import { targetName } from "../shape/target-name.ts";
import { type CalendarRef, type PlannedColumns, plannedColumns } from "./cadence-columns.ts";
import { sparseBody } from "./stored-body.ts";
import { lagMsOf, longestLag } from "./timetable.ts";

/** The parameters for writing a new version of a schedule. */
export interface VersionWritten extends RaisedVersion {
  id: string;
  key: string;
  shard: number;
  version: number;
  specVersion: number;
  /** The body of the version's spec, even if an earlier version has written the spec. */
  body: ScheduleBody;
  /**
   * The number of the newest version that ends the rechecks of the versions before it, if this
   * batch writes that version.
   */
  freshVersion?: number | undefined;
  /**
   * A version before the last edit of a schedule in one batch: only the last one writes the head.
   */
  isBetween?: boolean;
  /** The team of a new schedule. */
  teamId?: number | null | undefined;
}

/**
 * Values of the columns of `wantedRows`. A column that is left out is null, which saves sending it
 * for each of a thousand rows.
 */
export interface WantedRow {
  /** Columns that differ for nearly every schedule. */
  own: Readonly<Record<string, unknown>>;
  /** Columns that are equal for many rows of a batch. */
  common: Readonly<Record<string, unknown>>;
}

export function wantedRow(written: VersionWritten, author: Author): WantedRow {
  const { body, spec } = written;
  const cadence = spec === undefined ? null : plannedColumns(spec.cadence);
  return {
    own: {
      id: written.id,
      key: written.key,
      shard: written.shard,
      version: written.version,
      spec_version: written.specVersion,
      once_at: cadence?.onceAt ?? undefined,
      first_at: cadence?.firstAt ?? undefined,
      every_ms: cadence?.everyMs ?? undefined,
      cadence_id: written.cadenceId ?? undefined,
      phase: phaseOf(cadence),
      pulse_lag_s: spec === undefined ? undefined : pulseLagSeconds(written.key, spec.body),
      body: spec === undefined ? undefined : sparseBody(spec.body),
      payload: spec?.body.payload ?? undefined,
      payload_bytes: payloadBytes(spec),
      per_year: perYearBySlot(spec),
      group_key: body.group ?? undefined,
      tags: body.tags.length === 0 ? undefined : body.tags,
      detail: written.detail ?? undefined,
      fresh_version: written.freshVersion,
      between: written.isBetween === true ? true : undefined,
      team_id: written.teamId ?? undefined,
    },
    common: {
      change: written.change,
      held_since: written.held?.since,
      held_until: written.held?.until ?? undefined,
      spec: spec !== undefined,
      starts_at: cadence?.startsAt ?? undefined,
      ends_at: cadence?.endsAt ?? undefined,
      target: spec?.body.target,
      calendar_id: spec?.calendar?.id,
      lagged: isLagged(spec),
      end_look_at: body.deleteOnEnd && written.deleted !== true ? author.at : undefined,
      deleted_at: written.deleted === true ? author.at : undefined,
      at: author.at,
      actor: author.name,
      origin: author.origin,
      bulk: author.bulk,
      ...headColumns(body),
    },
  };
}

/** Undefined without a payload, and where the version has no spec of its own. */
function payloadBytes(spec: Spec | undefined): number | undefined {
  return spec === undefined || spec.body.payload === null ? undefined : payloadBytesOf(spec.body.payload);
}

/** Where in its interval an interval occurs, or the single instant; undefined for other cadences. */
function phaseOf(cadence: PlannedColumns | null): number | undefined {
  const { onceAt = null, firstAt = null, everyMs = null } = cadence ?? {};
  if (onceAt !== null) return onceAt.getTime();
  if (firstAt === null || everyMs === null) return undefined;
  const rest = firstAt.getTime() % everyMs;
  return rest < 0 ? rest + everyMs : rest;
}

/**
 * The fires of a year, for a quota. Undefined without a slot: the rule of the schedule gives them then, and
 * the rule is the same with every slot.
 */
function perYearBySlot(spec: Spec | undefined): number | undefined {
  return spec === undefined || spec.body.slot === null ? undefined : perYearOf(spec);
}

/** True if `spread` or `slot` moves jobs behind their occurrences; else undefined. */
function isLagged(spec: Spec | undefined): true | undefined {
  return spec !== undefined && longestLag(spec.body) > 0 ? true : undefined;
}

/**
 * SQL: the columns by which the agenda finds a schedule, of a row of `wantedRows` with a spec.
 */
export const ruleOfRow = (tx: Tx) => tx`coalesce(w.cadence_id, -w.every_ms, 0)`;

/**
 * The lag of a pulse; undefined for other schedules. The database takes a version with a lag as a
 * pulse, and writes the rows that the beats read.
 */
function pulseLagSeconds(key: string, body: ScheduleBody): number | undefined {
  return body.delivery === "pulse" ? lagMsOf(key, body) / 1_000 : undefined;
}

/**
 * Columns of the head, in which the tick, the claim and the settle find these values of the body.
 * Null means that nothing has to be checked.
 */
function headColumns({ target, serial, maxFires, overlap, deadline, priority, holdAfter }: ScheduleBody) {
  return {
    queue: queueClass(target),
    serial,
    target_kind: targetKind(target),
    target_name: targetName(target),
    max_fires: maxFires ?? undefined,
    overlap: overlap === "allow" ? undefined : overlap,
    deadline_ms: deadline === null ? undefined : durationMs(deadline),
    priority: priority === "normal" ? undefined : priority === "high" ? -1 : 1,
    hold_after: holdAfter ?? undefined,
  };
}

/**
 * The rows as one statement, whether one or a thousand, and the targets that they name. Common
 * columns are sent once for each kind of row: reading all of them in each row took a quarter of the
 * time of a batch.
 */
export function wantedRows(tx: Tx, wanted: readonly WantedRow[]) {
  const { rows, kinds } = byKind(wanted);
  return tx`
    wanted as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as w (
        kind int, id bigint, key text, shard smallint, version int, spec_version int, once_at timestamptz, first_at timestamptz,
        every_ms bigint, cadence_id int, phase bigint, pulse_lag_s int, body jsonb, payload jsonb, group_key text, tags text[], detail jsonb, fresh_version int, between boolean,
        team_id int, payload_bytes int, per_year bigint)
      join json_to_recordset(${`[${kinds.join(",")}]`}::text::json) as k (
        kind int, change carillon.schedule_change, held_since timestamptz, held_until timestamptz, spec boolean, starts_at timestamptz,
        ends_at timestamptz, target jsonb, queue carillon.queue_class, serial boolean, target_kind text, target_name text, calendar_id int, lagged boolean,
        max_fires int, overlap carillon.overlap_rule, deadline_ms bigint, priority smallint, hold_after smallint,
        end_look_at timestamptz, deleted_at timestamptz, at timestamptz, actor text, origin jsonb, bulk bigint) using (kind)
    ),
    named as materialized (
      select n.name, carillon.target_named(n.name) as id from (select distinct target_name as name from wanted order by 1) n
    )`;
}

function byKind(wanted: readonly WantedRow[]): { rows: object[]; kinds: readonly string[] } {
  const numbers = new Map<string, number>();
  const kinds: string[] = [];
  const rows = wanted.map(({ own, common }) => {
    const text = JSON.stringify(common);
    let kind = numbers.get(text);
    if (kind === undefined) {
      kind = kinds.push(`{"kind":${kinds.length},${text.slice(1)}`) - 1;
      numbers.set(text, kind);
    }
    return { kind, ...own };
  });
  return { rows, kinds };
}

/**
 * The lane that the jobs of a schedule pass because they share a group. Only the database knows
 * whether the handler takes a group together. `team` is the column with the team of the schedule.
 */
export const laneOfRow = (tx: Tx, team: ReturnType<Tx>) =>
  tx`case when w.group_key is not null then carillon.lane_for(w.target_name, w.group_key, w.serial, ${team}) end`;

/**
 * Writes the versions. The payload of a new spec is written even if it is null (JSON); SQL's null
 * means that the version has no spec of its own.
 */
export const versionsWritten = (tx: Tx) => tx`
  versions as (
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, held_until,
      once_at, first_at, every_ms, cadence_id, starts_at, ends_at, pulse_lag_s, body, target, payload, shard, bulk_id)
    select id, version, change, at, actor, spec_version, held_since is not null, held_until,
      once_at, first_at, every_ms, cadence_id, starts_at, ends_at, pulse_lag_s, body, target, case when spec then coalesce(payload, 'null') end, shard, bulk
    from wanted
  )`;

export const auditWritten = (tx: Tx) => tx`
  insert into carillon.audit (at, actor, action, subject, schedule_id, version, detail, origin)
  select at, actor, 'schedule.' || change, key, id, version, detail, origin from wanted where bulk is null order by key, version`;

export type ScheduleChange =
  | "created"
  | "replaced"
  | "patched"
  | "paused"
  | "resumed"
  | "deleted"
  | "restored"
  | "replanned";

export interface RaisedVersion {
  change: ScheduleChange;
  spec?: Spec | undefined;
  cadenceId?: number | null | undefined;
  held: Held | null;
  deleted?: boolean | undefined;
  /** The detail for the audit, besides author and change. */
  detail?: Json | undefined;
}

/** The time from which no occurrence is planned, and the end if every hold ends by itself. */
export interface Held {
  since: Date;
  until: Date | null;
}

/** A requested body, with its `when` resolved. */
export interface Spec {
  body: ScheduleBody;
  cadence: Cadence;
  /** The version of the calendar that it refers to. */
  calendar: CalendarRef | null;
}
