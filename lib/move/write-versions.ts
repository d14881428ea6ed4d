import type { Tx } from "../db/connect.ts";
import type { ShardState } from "../plan/shard.ts";
import { plannedColumns } from "../schedule/stored/cadence-columns.ts";
import type { MovedSchedule } from "./moved-doc.ts";
import type { SpecsHere, VersionHere } from "./read-specs.ts";

/**
 * Writes the versions of a schedule beside the one in force, which has been inserted with it, and
 * gives the schedule the numbers and times that it had.
 */
export async function writeVersions(
  tx: Tx,
  { shard }: ShardState,
  { scheduleId, schedule, specs }: { scheduleId: string; schedule: MovedSchedule; specs: SpecsHere },
): Promise<void> {
  const here = new Map(specs.versions.map((each) => [each.version.version, each]));
  const rows = schedule.versions
    .filter(({ version }) => version !== schedule.specVersion)
    .map(({ spec: _, ...version }) => ({ ...version, ...specColumns(here.get(version.version)) }));
  if (rows.length > 0)
    await tx`
      insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, held_until, once_at, first_at,
        every_ms, cadence_id, starts_at, ends_at, body, target, payload, shard)
      select ${scheduleId}, version, change, "changedAt", "changedBy", "specVersion", held, "heldUntil", "onceAt", "firstAt", "everyMs", "cadenceId",
        "startsAt", "endsAt", body, target, payload, ${shard}::smallint
      from json_to_recordset(${JSON.stringify(rows)}::text::json) v (version int, change carillon.schedule_change, "changedAt" timestamptz,
        "changedBy" text, "specVersion" int, held boolean, "heldUntil" timestamptz, "onceAt" timestamptz, "firstAt" timestamptz, "everyMs" bigint,
        "cadenceId" int, "startsAt" timestamptz, "endsAt" timestamptz, body jsonb, target jsonb, payload jsonb)`;
  await tx`
    update carillon.schedules set version = ${schedule.version}, fresh_version = ${schedule.freshVersion}, created_at = ${schedule.createdAt},
      created_by = ${schedule.createdBy}, fires = case when max_fires is not null then ${schedule.fires ?? 0}::int end
    where id = ${scheduleId}`;
  if (schedule.failures !== null)
    await tx`
      insert into carillon.failure_runs (schedule_id, failures, shard) values (${scheduleId}, ${schedule.failures}, ${shard})`;
}

function specColumns(here: VersionHere | undefined) {
  if (here === undefined) return {};
  const { spec, version, cadenceId } = here;
  const { onceAt, firstAt, everyMs, startsAt, endsAt } = plannedColumns(spec.cadence);
  const { body, target, payload } = version.spec ?? {};
  return { onceAt, firstAt, everyMs, startsAt, endsAt, cadenceId, body, target, payload };
}
