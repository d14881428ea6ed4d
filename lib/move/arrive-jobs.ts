import type { Tx } from "../db/connect.ts";
import { type OutgoingParcel, parcelMax } from "../parcel/parcel-queue.ts";
import { attachMissingDays } from "../plan/attach-days.ts";
import type { ShardState } from "../plan/shard.ts";
import { PassingConflict } from "../refusal.ts";
import type { MovedJob, MovedOwed } from "./moved-doc.ts";

/** The jobs and the backlog of a schedule, as far as one part has them. */
export interface JobsHere {
  scheduleId: string;
  state: ShardState;
  jobs: readonly MovedJob[];
  owed: readonly MovedOwed[];
}

type JobHere = MovedJob & { scheduleId: string };

/** Writes the open jobs and the backlog of schedules that arrive, as far as they are in these parts. */
export async function arriveJobs(tx: Tx, here: readonly JobsHere[]): Promise<OutgoingParcel[]> {
  await writeOwed(tx, here);
  return writeJobs(tx, here);
}

/** Occurrences that the other installation had put into its backlog. */
async function writeOwed(tx: Tx, here: readonly JobsHere[]): Promise<void> {
  const rows = here.flatMap(({ scheduleId, state: { now }, owed }) =>
    owed.map((each) => ({ ...each, scheduleId, now })),
  );
  if (rows.length === 0) return;
  await tx`
    insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, taken, turn_at, noted_at)
    select s.id, s.shard, o.kind, s.spec_version, o.occurrences, o.dues, 0, o.now, o.now
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      o ("scheduleId" bigint, kind carillon.job_kind, occurrences timestamptz[], dues timestamptz[], now timestamptz)
    cross join lateral (select id, shard, spec_version from carillon.schedules where id = o."scheduleId" offset 0) s`;
}

/**
 * Writes the open jobs of schedules that arrive. They are inserted as cancelled ones, and then
 * retried: so they come into parcels, lanes, targets and under holds in the one way that there is,
 * and keep their attempts and the end of their backoff.
 */
async function writeJobs(tx: Tx, here: readonly JobsHere[]): Promise<OutgoingParcel[]> {
  const jobs = here.flatMap((each) =>
    each.jobs.map((job): JobHere => ({ ...job, scheduleId: each.scheduleId })),
  );
  const [first] = here;
  if (first === undefined || jobs.length === 0) return [];
  const days = jobs.map(({ occurrence, dueAt }) => ({ at: Date.parse(occurrence), due: Date.parse(dueAt) }));
  const { now } = first.state;
  const nearUntil = new Date(Math.min(...here.map(({ state }) => state.nearUntil.getTime())));
  await attachMissingDays(tx, days, { now, nearUntil });
  const rows = JSON.stringify(jobs.map(({ attempts: _, ...job }) => job));
  await tx`
    with arriving as materialized (
      select j.*, s.shard, s.overlap, s.lane from json_to_recordset(${rows}::text::json) j ("scheduleId" bigint, occurrence timestamptz,
        kind carillon.job_kind, n int, "dueAt" timestamptz, open boolean, reason text, version int, attempt smallint, "startedAt" timestamptz,
        "finishedAt" timestamptz, error text, payload jsonb, checks smallint, root json, origin text)
      cross join lateral (select shard, overlap, lane from carillon.schedules where id = j."scheduleId" offset 0) s
    ), written as (
      insert into carillon.jobs (occurrence, schedule_id, kind, n, due_at, state, reason, version, attempt, started_at, finished_at, error, payload,
        checks, root_occurrence, root_kind, root_n, shard, origin)
      select occurrence, "scheduleId", kind, n, "dueAt", 'cancelled', coalesce(reason, 'moved'), version, attempt, "startedAt",
        coalesce("finishedAt", carillon.clock()), error, nullif(payload, 'null'), checks, (root ->> 'occurrence')::timestamptz,
        (root ->> 'kind')::carillon.job_kind, (root ->> 'n')::int, shard, origin
      from arriving
    ), beside as (
      insert into carillon.jobs_beside (occurrence, schedule_id, kind, n, shard)
      select occurrence, "scheduleId", kind, n, shard from arriving where kind <> 'cadence'
    )
    insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n)
    select l.lane, a."dueAt", a.occurrence, a."scheduleId", a.kind, a.n
    from arriving a
    cross join lateral (values (case when a.overlap is not null and a.kind = 'cadence' then carillon.lane_of(a."scheduleId") end), (a.lane)) l (lane)
    where a.open and l.lane is not null`;
  await writeAttempts(tx, jobs);
  return reopen(
    tx,
    jobs.filter(({ open }) => open),
    now,
  );
}

async function writeAttempts(tx: Tx, jobs: readonly JobHere[]): Promise<void> {
  const attempts = jobs.flatMap(({ scheduleId, occurrence, kind, n, attempts: own }) =>
    own.map((each) => ({ scheduleId, occurrence, kind, n, ...each })),
  );
  if (attempts.length === 0) return;
  await tx`
    insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, error, error_class, stack, shard)
    select occurrence, "scheduleId", kind, n, attempt, "startedAt", "finishedAt", outcome, error, "errorClass", stack, s.shard
    from json_to_recordset(${JSON.stringify(attempts)}::text::json) a ("scheduleId" bigint, occurrence timestamptz, kind carillon.job_kind, n int,
      attempt smallint, "startedAt" timestamptz, "finishedAt" timestamptz, outcome text, error text, "errorClass" text, stack text)
    cross join lateral (select shard from carillon.schedules where id = a."scheduleId" offset 0) s`;
}

async function reopen(tx: Tx, jobs: readonly JobHere[], now: Date): Promise<OutgoingParcel[]> {
  if (jobs.length === 0) return [];
  const occurrences = tx.array(jobs.map(({ occurrence }) => new Date(occurrence)));
  const ids = jobs.map(({ scheduleId }) => scheduleId);
  const kinds = jobs.map(({ kind }) => kind);
  const ns = jobs.map(({ n }) => n);
  const waits = jobs.map(({ readyAt }) =>
    readyAt === null ? null : Math.max(0, Math.ceil(Date.parse(readyAt) - now.getTime())),
  );
  const rows = await tx<(OutgoingParcel & { became: string | null })[]>`
    select became, id, queue, coalesce(greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000), 0)::float8 as "waitMs"
    from carillon.retry_jobs(${occurrences}::timestamptz[], ${ids}::bigint[], ${kinds}::text[]::carillon.job_kind[], ${ns}::int[],
      ${waits}::bigint[], false, ${parcelMax.fast}, ${parcelMax.slow})`;
  if (rows.some(({ became }) => became === "deleted"))
    throw new PassingConflict("The schedule was deleted while its jobs arrived. Retry the request.");
  const failed = rows.filter(({ became }) => became !== null && became !== "retried").length;
  if (failed > 0)
    throw new Error(
      `${failed} jobs of the schedules ${[...new Set(ids)].join(", ")} could not be opened again.`,
    );
  // A retry by command forgives all attempts before it. Here the job goes on with its own count.
  await tx`
    update carillon.jobs j set forgiven = k.forgiven, version = k.version
    from unnest(${occurrences}::timestamptz[], ${ids}::bigint[], ${kinds}::text[]::carillon.job_kind[], ${ns}::int[],
      ${jobs.map(({ forgiven }) => forgiven)}::smallint[], ${jobs.map(({ version }) => version)}::int[])
      k (occurrence, schedule_id, kind, n, forgiven, version)
    where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n`;
  return rows.flatMap(({ became, ...parcel }) => (became === null ? [parcel] : []));
}
