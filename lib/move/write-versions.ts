import type { Tx } from "../db/connect.ts";
import { plannedColumns } from "../schedule/stored/cadence-columns.ts";
import type { Admitted } from "./decide-arrivals.ts";
import type { VersionRead } from "./read-specs.ts";

type Cadences = ReadonlyMap<VersionRead, number | null>;

/**
 * Writes the versions of schedules beside those in force, which have been inserted with them, and
 * gives the schedules the numbers and times that they had.
 */
export async function writeVersions(
  tx: Tx,
  admitted: readonly Admitted[],
  cadences: Cadences,
): Promise<void> {
  const rows = admitted.flatMap((each) => rowsOf(each, cadences));
  if (rows.length > 0)
    await tx`
      insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, held_until, once_at, first_at,
        every_ms, cadence_id, starts_at, ends_at, body, target, payload, shard)
      select "scheduleId", version, change, "changedAt", "changedBy", "specVersion", held, "heldUntil", "onceAt", "firstAt", "everyMs", "cadenceId",
        "startsAt", "endsAt", body, target, payload, shard
      from json_to_recordset(${JSON.stringify(rows)}::text::json) v ("scheduleId" bigint, shard smallint, version int, change carillon.schedule_change,
        "changedAt" timestamptz, "changedBy" text, "specVersion" int, held boolean, "heldUntil" timestamptz, "onceAt" timestamptz,
        "firstAt" timestamptz, "everyMs" bigint, "cadenceId" int, "startsAt" timestamptz, "endsAt" timestamptz, body jsonb, target jsonb,
        payload jsonb)`;
  await writeHeads(tx, admitted);
}

function rowsOf({ scheduleId, state: { shard }, schedule, specs }: Admitted, cadences: Cadences): object[] {
  const here = new Map(specs.versions.map((each) => [each.version.version, each]));
  return schedule.versions
    .filter(({ version }) => version !== schedule.specVersion)
    .map(({ spec: _, ...version }) => ({
      scheduleId,
      shard,
      ...version,
      ...specColumns(here.get(version.version), cadences),
    }));
}

function specColumns(here: VersionRead | undefined, cadences: Cadences) {
  if (here === undefined) return {};
  const { spec, version } = here;
  const { onceAt, firstAt, everyMs, startsAt, endsAt } = plannedColumns(spec.cadence);
  const { body, target, payload } = version.spec ?? {};
  const cadenceId = cadences.get(here) ?? null;
  return { onceAt, firstAt, everyMs, startsAt, endsAt, cadenceId, body, target, payload };
}

async function writeHeads(tx: Tx, admitted: readonly Admitted[]): Promise<void> {
  const heads = admitted.map(({ scheduleId, schedule }) => {
    const { version, freshVersion, createdAt, createdBy, fires } = schedule;
    return { id: scheduleId, version, freshVersion, createdAt, createdBy, fires: fires ?? 0 };
  });
  await tx`
    update carillon.schedules s set version = h.version, fresh_version = h."freshVersion", created_at = h."createdAt", created_by = h."createdBy",
      fires = case when s.max_fires is not null then h.fires end
    from json_to_recordset(${JSON.stringify(heads)}::text::json)
      h (id bigint, version int, "freshVersion" int, "createdAt" timestamptz, "createdBy" text, fires int)
    where s.id = h.id`;
  const failing = admitted.filter(({ schedule }) => schedule.failures !== null);
  if (failing.length > 0)
    await tx`
      insert into carillon.failure_runs (schedule_id, failures, shard)
      select * from unnest(${failing.map(({ scheduleId }) => scheduleId)}::bigint[], ${failing.map(({ schedule }) => schedule.failures)}::int[],
        ${failing.map(({ state }) => state.shard)}::int[]::smallint[]) f`;
}
