import type { Cadence } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { queueClass, targetKind } from "./queue-class.ts";
import type { ScheduleBody } from "./schedule-body.ts";
import { type StoredSchedule, sparseBody } from "./stored-schedule.ts";

export type ScheduleChange = "created" | "replaced" | "patched" | "paused" | "resumed" | "deleted";

/** What is asked, with its `when` resolved. */
export interface Spec {
  body: ScheduleBody;
  cadence: Cadence;
}

export interface Author {
  name: string;
  at: Date;
}

/** The id of a cron's row in carillon.cadences, made when it is new; null for the cadences that plan rows carry themselves. */
export async function cadenceId(tx: Tx, cadence: Cadence): Promise<number | null> {
  if (cadence.kind !== "cron") return null;
  const { expression, timezone } = cadence;
  const find = () => tx<{ id: number }[]>`
    select id from carillon.cadences where expression = ${expression} and timezone = ${timezone}`;
  const [known] = await find();
  if (known !== undefined) return known.id;
  const [made] = await tx<{ id: number }[]>`
    insert into carillon.cadences (expression, timezone) values (${expression}, ${timezone}) on conflict do nothing returning id`;
  const id = (made ?? (await find())[0])?.id;
  if (id === undefined)
    throw new Error(`The cadence ${expression} in ${timezone} could neither be made nor found.`);
  return id;
}

export async function newScheduleId(tx: Tx): Promise<string> {
  const [row] = await tx<{ id: string }[]>`select nextval('carillon.schedules_id_seq') as id`;
  if (row === undefined) throw new Error("nextval gave nothing.");
  return row.id;
}

export interface NewSchedule {
  id: string;
  key: string;
  shard: number;
  spec: Spec;
  cadenceId: number | null;
  heldSince: Date | null;
}

export async function insertSchedule(
  tx: Tx,
  { id, key, shard, spec, cadenceId, heldSince }: NewSchedule,
  author: Author,
): Promise<void> {
  const { body } = spec;
  await tx`
    insert into carillon.schedules (id, key, shard, queue, held_since, group_key, tags, target_kind,
      created_at, created_by, updated_at, updated_by)
    values (${id}, ${key}, ${shard}, ${queueClass(body.target)}, ${heldSince}, ${body.group}, ${body.tags},
      ${targetKind(body.target)}, ${author.at}, ${author.name}, ${author.at}, ${author.name})`;
  await insertVersion(
    tx,
    {
      scheduleId: id,
      version: 1,
      specVersion: 1,
      change: "created",
      held: heldSince !== null,
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
  heldSince: Date | null;
  deleted?: boolean | undefined;
}

/** Raises the schedule's version: plan rows and not yet due jobs of the old one are no longer its own. */
export async function raiseVersion(
  tx: Tx,
  current: StoredSchedule,
  raised: RaisedVersion,
  author: Author,
): Promise<number> {
  const version = current.version + 1;
  const specVersion = raised.spec === undefined ? current.specVersion : version;
  const body = raised.spec?.body ?? current.body;
  await tx`
    update carillon.schedules
    set version = ${version}, spec_version = ${specVersion}, held_since = ${raised.heldSince}, queue = ${queueClass(body.target)},
      deleted_at = ${raised.deleted === true ? author.at : null},
      group_key = ${body.group}, tags = ${body.tags}, target_kind = ${targetKind(body.target)},
      updated_at = ${author.at}, updated_by = ${author.name}
    where id = ${current.id}`;
  const { change, spec, cadenceId } = raised;
  await insertVersion(
    tx,
    {
      scheduleId: current.id,
      version,
      specVersion,
      change,
      held: raised.heldSince !== null,
      spec,
      cadenceId: cadenceId ?? null,
    },
    author,
  );
  return version;
}

interface NewVersion {
  scheduleId: string;
  version: number;
  specVersion: number;
  change: ScheduleChange;
  held: boolean;
  spec: Spec | undefined;
  cadenceId: number | null;
}

async function insertVersion(
  tx: Tx,
  { scheduleId, version, specVersion, change, held, spec, cadenceId }: NewVersion,
  author: Author,
): Promise<void> {
  const cadence = spec?.cadence;
  await tx`
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held,
      once_at, first_at, every_ms, cadence_id, body, target, payload)
    values (${scheduleId}, ${version}, ${change}, ${author.at}, ${author.name}, ${specVersion}, ${held},
      ${cadence?.kind === "once" ? new Date(cadence.at) : null},
      ${cadence?.kind === "interval" ? new Date(cadence.firstAt) : null},
      ${cadence?.kind === "interval" ? cadence.everyMs : null}, ${cadenceId},
      ${spec === undefined ? null : jsonText(sparseBody(spec.body))}::text::jsonb,
      ${spec === undefined ? null : jsonText(spec.body.target)}::text::jsonb,
      ${spec === undefined ? null : jsonText(spec.body.payload)}::text::jsonb)`;
  await tx`
    insert into carillon.audit (at, actor, action, subject, schedule_id, version)
    select ${author.at}, ${author.name}, ${`schedule.${change}`}, s.key, s.id, ${version} from carillon.schedules s where s.id = ${scheduleId}`;
}

function jsonText(value: unknown): string {
  return JSON.stringify(value);
}
