import type { Tx } from "../db/connect.ts";
import type { JobKey } from "../job/job-id.ts";
import { type Caller, originText } from "../schedule/shape/caller.ts";
import type { Json } from "../schedule/shape/json.ts";

type JobAction = "jobs.cancelled" | "jobs.retried";

/** An entry of the audit, by its key. */
export interface EntryKey {
  at: Date;
  id: string;
}

/**
 * The one audit entry of a call that acts on many jobs. The first transaction that changes something
 * writes it, and later ones add their jobs to its count: if the call dies, the entry counts what was
 * done.
 */
export interface CallEntry {
  subject: string;
  /** The keys of all jobs of the call begin with this. */
  prefix: string;
  /** Set after the commit of the transaction that wrote it. */
  written: EntryKey | null;
}

export interface ActedBy {
  caller: Caller;
  detail: { [name: string]: Json };
  /** Left out for an action on one job. */
  entry?: CallEntry;
}

type NotedJob = Pick<JobKey, "scheduleId"> & Partial<JobKey>;

/**
 * Writes who cancelled or retried these jobs: one audit entry per schedule, or the entry of the call
 * (then the result is its key, for `CallEntry.written`). Each job that has a row is tied to its
 * entry.
 */
export async function noteJobs(
  tx: Tx,
  action: JobAction,
  jobs: readonly NotedJob[],
  by: ActedBy,
): Promise<EntryKey | null> {
  if (jobs.length === 0) return null;
  if (by.entry === undefined) {
    await noteApart(tx, action, jobs, by);
    return null;
  }
  const key = by.entry.written ?? (await writeEntry(tx, action, jobs.length, by, by.entry));
  if (by.entry.written !== null)
    await tx`select carillon.add_to_entry(${key.at}, ${key.id}::bigint, ${jobs.length}::int)`;
  await tx`
    insert into carillon.job_requests (occurrence, schedule_id, kind, n, at, audit_id)
    select j.*, ${key.at}::timestamptz, ${key.id}::bigint from ${keysOf(tx, jobs)}`;
  return key;
}

async function writeEntry(
  tx: Tx,
  action: JobAction,
  count: number,
  { caller, detail }: ActedBy,
  { subject, prefix }: CallEntry,
): Promise<EntryKey> {
  const [row] = await tx<EntryKey[]>`
    insert into carillon.audit (at, actor, action, subject, detail, origin, prefix)
    values (carillon.clock(), ${caller.name}, ${action}, ${subject}, jsonb_build_object('jobs', ${count}::int) || ${JSON.stringify(detail)}::text::jsonb,
      ${originText(caller)}::text::jsonb, ${prefix})
    returning at, id`;
  if (row === undefined) throw new Error("The audit took no entry.");
  return row;
}

async function noteApart(
  tx: Tx,
  action: JobAction,
  jobs: readonly NotedJob[],
  { caller, detail }: ActedBy,
): Promise<void> {
  await tx`
    with entries as (
      insert into carillon.audit (at, actor, action, subject, schedule_id, version, detail, origin)
      select carillon.clock(), ${caller.name}, ${action}, s.key, s.id, s.version,
        jsonb_build_object('jobs', j.jobs) || ${JSON.stringify(detail)}::text::jsonb, ${originText(caller)}::text::jsonb
      from (
        select schedule_id, count(*) as jobs from unnest(${jobs.map(({ scheduleId }) => scheduleId)}::bigint[]) j (schedule_id) group by 1 order by 1) j
      cross join lateral (select s.key, s.id, s.version from carillon.schedules s where s.id = j.schedule_id offset 0) s
      returning schedule_id, at, id
    )
    insert into carillon.job_requests (occurrence, schedule_id, kind, n, at, audit_id)
    select j.*, e.at, e.id from ${keysOf(tx, jobs)} join entries e on e.schedule_id = j.schedule_id`;
}

/** SQL: the keys `j` of those jobs that have a row. */
function keysOf(tx: Tx, jobs: readonly NotedJob[]) {
  const keys = jobs.flatMap(({ scheduleId, occurrence, kind, n }) =>
    occurrence === undefined || kind === undefined || n === undefined
      ? []
      : [{ scheduleId, occurrence, kind, n }],
  );
  return tx`unnest(${tx.array(keys.map(({ occurrence }) => occurrence))}::timestamptz[], ${keys.map(({ scheduleId }) => scheduleId)}::bigint[],
    ${keys.map(({ kind }) => kind)}::text[]::carillon.job_kind[], ${keys.map(({ n }) => n)}::int[]) j (occurrence, schedule_id, kind, n)`;
}

const subjectMax = 255;

/** The entry of a call with this filter, not written yet. */
export function callEntry(filter: { [name: string]: Json }): CallEntry {
  const { key, prefix } = filter;
  const text = Object.entries(filter).map(
    ([name, value]) => `${name} ${Array.isArray(value) ? value.join(",") : String(value)}`,
  );
  return {
    subject: [...text.join(", ")].slice(0, subjectMax).join(""),
    prefix: typeof key === "string" ? key : typeof prefix === "string" ? prefix : "",
    written: null,
  };
}
