import type { Tx } from "../db/connect.ts";
import { type JobKey, type JobKind, jobId } from "../job/job-id.ts";
import type { Json } from "../schedule/shape/json.ts";
import type { ScheduleChange } from "../schedule/stored/version-rows.ts";
import type { MovedJob, MovedOwed, MovedVersion } from "./moved-doc.ts";

/** The newest versions of a schedule that move with it. The older ones stay in its old installation. */
const versionsMax = 100;
/** Versions beyond this many bytes stay too. */
const versionBytesMax = 500_000;

const text = (instant: Date | null) => instant?.toISOString() ?? null;

interface VersionRow {
  scheduleId: string;
  version: number;
  specVersion: number;
  change: ScheduleChange;
  changedAt: Date;
  changedBy: string;
  held: boolean;
  heldUntil: Date | null;
  onceAt: Date | null;
  firstAt: Date | null;
  everyMs: string | null;
  startsAt: Date | null;
  endsAt: Date | null;
  expression: string | null;
  timezone: string | null;
  dst: string | null;
  calendarOn: "skip" | "next" | "previous" | null;
  calendar: string | null;
  body: Json;
  target: Json;
  payload: Json;
}

/**
 * The newest versions of each schedule, and the one with its spec, in the order of versions. Those
 * that are too large to move are not read: a page of schedules with large payloads would not fit
 * into memory.
 */
export async function readVersions(tx: Tx, ids: readonly string[]): Promise<Map<string, MovedVersion[]>> {
  const rows = await tx<VersionRow[]>`
    select v.schedule_id as "scheduleId", v.version, v.spec_version as "specVersion", v.change, v.changed_at as "changedAt", v.changed_by as "changedBy",
      v.held, v.held_until as "heldUntil", v.once_at as "onceAt", v.first_at as "firstAt", v.every_ms as "everyMs", v.starts_at as "startsAt",
      v.ends_at as "endsAt", c.expression, c.timezone, c.dst, c.calendar_on as "calendarOn", k.name as calendar, v.body, v.target, v.payload
    from carillon.schedules s
    cross join lateral (
      select version from (
        select version, sum(coalesce(octet_length(body::text) + octet_length(target::text), 0) + coalesce(octet_length(payload::text), 0))
          over (order by version desc) as bytes
        from (
          select version, body, target, payload from carillon.schedule_versions
          where schedule_id = s.id order by version desc limit ${versionsMax}) newest) summed
      where bytes <= ${versionBytesMax}
      union select s.spec_version) kept
    join carillon.schedule_versions v on v.schedule_id = s.id and v.version = kept.version
    left join carillon.cadences c on c.id = v.cadence_id
    left join carillon.calendar_versions r on r.id = c.calendar_version
    left join carillon.calendars k on k.id = r.calendar_id
    where s.id = any(${[...ids]}::bigint[])
    order by v.schedule_id, v.version`;
  const byId = Map.groupBy(rows, ({ scheduleId }) => scheduleId);
  return new Map([...byId].map(([id, versions]) => [id, withinBytes(versions.map(movedVersion))]));
}

/** The newest versions that fit, in any case the one in force. */
function withinBytes(versions: readonly MovedVersion[]): MovedVersion[] {
  const inForce = Math.max(...versions.map(({ specVersion }) => specVersion));
  let left = versionBytesMax;
  return versions
    .toReversed()
    .filter((each) => {
      if (each.version === inForce) return true;
      left -= Buffer.byteLength(JSON.stringify(each));
      return left >= 0;
    })
    .toReversed();
}

function movedVersion(row: VersionRow): MovedVersion {
  const { version, specVersion, change, changedBy, held, body, target, payload } = row;
  const { expression, timezone, dst, calendarOn, calendar, everyMs } = row;
  const cadence = {
    onceAt: text(row.onceAt),
    firstAt: text(row.firstAt),
    everyMs: everyMs === null ? null : Number(everyMs),
    startsAt: text(row.startsAt),
    endsAt: text(row.endsAt),
    expression,
    timezone,
    dst,
    calendarOn,
    calendar,
  };
  return {
    version,
    specVersion,
    change,
    changedAt: row.changedAt.toISOString(),
    changedBy,
    held,
    heldUntil: text(row.heldUntil),
    spec: version === specVersion ? { cadence, body, target, payload } : null,
  };
}

export interface JobRow extends JobKey {
  dueAt: Date;
  readyAt: Date | null;
  reason: string | null;
  version: number;
  attempt: number;
  startedAt: Date | null;
  finishedAt: Date | null;
  error: string | null;
  payload: Json;
  checks: number | null;
  rootOccurrence: Date | null;
  rootKind: JobKind | null;
  rootN: number | null;
  forgiven: number | null;
  origin: string | null;
  state: string;
  leased: boolean;
}

const jobColumns = (tx: Tx) => tx`
  j.occurrence, j.schedule_id as "scheduleId", j.kind, j.n, j.due_at as "dueAt", nullif(j.ready_at, 'infinity') as "readyAt", j.reason, j.version,
  j.attempt, j.started_at as "startedAt", j.finished_at as "finishedAt", j.error, j.payload, j.checks, j.root_occurrence as "rootOccurrence",
  j.root_kind as "rootKind", j.root_n as "rootN", j.forgiven, j.origin, j.state`;

/** The jobs of these schedules that have not ended. `leased`: a worker has it. */
export async function readOpenJobs(tx: Tx, ids: readonly string[]): Promise<JobRow[]> {
  return tx<JobRow[]>`
    select ${jobColumns(tx)}, p.lease_until is not null as leased
    from carillon.parcels_of(${[...ids]}::bigint[]) own (id) join carillon.parcels p on p.id = own.id
    cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    cross join lateral (
      select j.* from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.state = 'waiting' and j.parcel_id = p.id offset 0) j
    where k.schedule_id = any(${[...ids]}::bigint[])
    order by j.schedule_id, j.due_at, j.occurrence, j.kind, j.n`;
}

/** The ids of those schedules of which a worker has a job. */
export async function runningAmong(tx: Tx, ids: readonly string[]): Promise<Set<string>> {
  const rows = await tx<{ id: string }[]>`
    select distinct k.schedule_id as id
    from carillon.parcels_of(${[...ids]}::bigint[]) own (id) join carillon.parcels p on p.id = own.id and p.lease_until is not null
    cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    cross join lateral (
      select from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.state = 'waiting' and j.parcel_id = p.id offset 0) j
    where k.schedule_id = any(${[...ids]}::bigint[])`;
  return new Set(rows.map(({ id }) => id));
}

/** Jobs of coming occurrences that were cancelled ahead of their time. */
export async function readCancelledAhead(
  tx: Tx,
  coming: readonly { scheduleId: string; occurrence: Date }[],
): Promise<JobRow[]> {
  if (coming.length === 0) return [];
  return tx<JobRow[]>`
    select ${jobColumns(tx)}, false as leased
    from unnest(${tx.array(coming.map(({ occurrence }) => occurrence))}::timestamptz[], ${coming.map(({ scheduleId }) => scheduleId)}::bigint[]) k (occurrence, schedule_id)
    cross join lateral (
      select * from carillon.jobs j where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = 'cadence' and j.n = 0 offset 0) j
    where j.state = 'cancelled'`;
}

interface AttemptRow extends JobKey {
  attempt: number;
  startedAt: Date;
  finishedAt: Date;
  outcome: "succeeded" | "failed" | "crashed" | "cancelled";
  error: string | null;
  errorClass: string | null;
  stack: string | null;
}

/** The jobs as they are sent, with their attempts. */
export async function movedJobs(
  tx: Tx,
  rows: readonly JobRow[],
): Promise<{ scheduleId: string; job: MovedJob }[]> {
  const begun = rows.filter(({ attempt }) => attempt > 0);
  const attempts = begun.length === 0 ? [] : await readAttempts(tx, begun);
  const byJob = Map.groupBy(attempts, jobId);
  return rows.map((row) => ({
    scheduleId: row.scheduleId,
    job: movedJob(row, byJob.get(jobId(row)) ?? []),
  }));
}

function readAttempts(tx: Tx, keys: readonly JobKey[]): PromiseLike<AttemptRow[]> {
  return tx<AttemptRow[]>`
    select a.occurrence, a.schedule_id as "scheduleId", a.kind, a.n, a.attempt, a.started_at as "startedAt", a.finished_at as "finishedAt",
      a.outcome, a.error, a.error_class as "errorClass", a.stack
    from unnest(${tx.array(keys.map(({ occurrence }) => occurrence))}::timestamptz[], ${keys.map(({ scheduleId }) => scheduleId)}::bigint[],
      ${keys.map(({ kind }) => kind)}::text[]::carillon.job_kind[], ${keys.map(({ n }) => n)}::int[]) k (occurrence, schedule_id, kind, n)
    cross join lateral (
      select * from carillon.attempts a
      where a.occurrence = k.occurrence and a.schedule_id = k.schedule_id and a.kind = k.kind and a.n = k.n offset 0) a
    order by a.attempt`;
}

function movedJob(row: JobRow, attempts: readonly AttemptRow[]): MovedJob {
  const { kind, n, version, attempt, error, payload, checks, forgiven, reason } = row;
  const { rootOccurrence, rootKind, rootN } = row;
  return {
    occurrence: row.occurrence.toISOString(),
    kind,
    n,
    dueAt: row.dueAt.toISOString(),
    readyAt: text(row.readyAt),
    open: row.state === "waiting",
    reason,
    version,
    attempt,
    startedAt: text(row.startedAt),
    finishedAt: text(row.finishedAt),
    error,
    payload,
    checks,
    root:
      rootOccurrence === null || rootKind === null || rootN === null
        ? null
        : { occurrence: rootOccurrence.toISOString(), kind: rootKind, n: rootN },
    forgiven,
    origin: row.origin ?? (attempt > 0 || row.startedAt !== null ? jobId(row) : null),
    attempts: attempts.map((each) => ({
      attempt: each.attempt,
      startedAt: each.startedAt.toISOString(),
      finishedAt: each.finishedAt.toISOString(),
      outcome: each.outcome,
      error: each.error,
      errorClass: each.errorClass,
      stack: each.stack,
    })),
  };
}

/** Takes the occurrences that have not become jobs yet out of the backlog. */
export async function takeOwed(tx: Tx, ids: readonly string[]): Promise<Map<string, MovedOwed[]>> {
  const rows = await tx<{ scheduleId: string; kind: JobKind; occurrences: Date[]; dues: Date[] }[]>`
    delete from carillon.backlog where schedule_id = any(${[...ids]}::bigint[])
    returning schedule_id as "scheduleId", kind, occurrences[taken + 1 :] as occurrences, dues[taken + 1 :] as dues`;
  const byId = Map.groupBy(rows, ({ scheduleId }) => scheduleId);
  const iso = (instants: readonly Date[]) => instants.map((each) => each.toISOString());
  return new Map(
    [...byId].map(([id, owed]) => [
      id,
      owed.map(({ kind, occurrences, dues }) => ({ kind, occurrences: iso(occurrences), dues: iso(dues) })),
    ]),
  );
}

export async function readFailures(tx: Tx, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx<{ id: string; failures: number }[]>`
    select schedule_id as id, failures from carillon.failure_runs where schedule_id = any(${[...ids]}::bigint[])`;
  return new Map(rows.map(({ id, failures }) => [id, failures]));
}
