import { durationMs } from "../cadence/duration.ts";
import type { Tx } from "../db/connect.ts";
import { type CalendarRef, plannedColumns } from "./cadence-columns.ts";
import type { Author } from "./caller.ts";
import { queueClass, targetKind } from "./queue-class.ts";
import type { ScheduleBody } from "./schedule-body.ts";
import { sparseBody } from "./stored-schedule.ts";
import { targetName } from "./target-name.ts";
import { lagMsOf } from "./timetable.ts";
import type { RaisedVersion } from "./write-schedule.ts";

/** What a new version of a schedule is written from. */
export interface VersionWritten extends RaisedVersion {
  id: string;
  key: string;
  version: number;
  specVersion: number;
}

/** The columns are those of `wantedRows`; what is left out is null there, and need not be written and read a thousand times. */
export function versionRow(
  { id, key, version, specVersion, change, held, spec, cadenceId, detail }: VersionWritten,
  author: Author,
) {
  const cadence = spec === undefined ? null : plannedColumns(spec.cadence);
  return {
    id,
    key,
    version,
    spec_version: specVersion,
    change,
    held_since: held?.since,
    held_until: held?.until ?? undefined,
    spec: spec !== undefined,
    once_at: cadence?.onceAt ?? undefined,
    first_at: cadence?.firstAt ?? undefined,
    every_ms: cadence?.everyMs ?? undefined,
    cadence_id: cadenceId ?? undefined,
    starts_at: cadence?.startsAt ?? undefined,
    ends_at: cadence?.endsAt ?? undefined,
    pulse_lag_s: spec === undefined ? undefined : pulseLagSeconds(key, spec.body),
    body: spec === undefined ? undefined : sparseBody(spec.body),
    target: spec?.body.target,
    payload: spec?.body.payload ?? undefined,
    at: author.at,
    actor: author.name,
    origin: author.origin,
    detail: detail ?? undefined,
  };
}

/** By it the database knows a version that asks for pulses, and writes what their beats read. */
function pulseLagSeconds(key: string, body: ScheduleBody): number | undefined {
  return body.delivery === "pulse" ? lagMsOf(key, body) / 1_000 : undefined;
}

/** What tick, claim and settle look at stands in the head; null where they need not look. */
export function headRow(body: ScheduleBody, calendar: CalendarRef | null) {
  const { target, overlap, deadline, priority } = body;
  return {
    queue: queueClass(target),
    group_key: body.group ?? undefined,
    serial: body.serial,
    tags: body.tags,
    target_kind: targetKind(target),
    target_name: targetName(target),
    calendar_id: calendar?.id,
    max_fires: body.maxFires ?? undefined,
    overlap: overlap === "allow" ? undefined : overlap,
    deadline_ms: deadline === null ? undefined : durationMs(deadline),
    priority: priority === "normal" ? undefined : priority === "high" ? -1 : 1,
    hold_after: body.holdAfter ?? undefined,
  };
}

/** The rows as one JSON, so that one row and a thousand are the same statement; and the targets that they name. */
export function wantedRows(tx: Tx, rows: readonly object[]) {
  return tx`
    wanted as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as w (
        id bigint, key text, shard smallint, version int, spec_version int, change carillon.schedule_change,
        held_since timestamptz, held_until timestamptz, spec boolean, once_at timestamptz, first_at timestamptz, every_ms bigint,
        cadence_id int, starts_at timestamptz, ends_at timestamptz, pulse_lag_s int, body jsonb, target jsonb, payload jsonb,
        queue carillon.queue_class, group_key text, serial boolean, tags text[], target_kind text, target_name text, calendar_id int,
        max_fires int, overlap carillon.overlap_rule, deadline_ms bigint, priority smallint, hold_after smallint, fresh boolean,
        end_look_at timestamptz, deleted_at timestamptz, at timestamptz, actor text, origin jsonb, detail jsonb)
    ),
    named as materialized (
      select n.name, carillon.target_named(n.name) as id from (select distinct target_name as name from wanted order by 1) n
    )`;
}

/** The lane that its jobs pass because they share a group: whether its handler takes a group together, the database knows. */
export const laneOfRow = (tx: Tx) =>
  tx`case when w.group_key is not null then carillon.lane_for(w.target_name, w.group_key, w.serial) end`;

/** A payload of null is one. */
export const versionsWritten = (tx: Tx) => tx`
  versions as (
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, held_until,
      once_at, first_at, every_ms, cadence_id, starts_at, ends_at, pulse_lag_s, body, target, payload, shard)
    select id, version, change, at, actor, spec_version, held_since is not null, held_until,
      once_at, first_at, every_ms, cadence_id, starts_at, ends_at, pulse_lag_s, body, target, case when spec then coalesce(payload, 'null') end, shard
    from wanted
  )`;

export const auditWritten = (tx: Tx) => tx`
  insert into carillon.audit (at, actor, action, subject, schedule_id, version, detail, origin)
  select at, actor, 'schedule.' || change, key, id, version, detail, origin from wanted order by key`;
