import type { Sql, Tx } from "../db/connect.ts";
import { type JobKey, type JobKind, jobId, parseJobId } from "../job/job-id.ts";
import { readJobsAt } from "../job/read-job.ts";
import { fits, isHeld } from "../schedule/filter-schedules.ts";
import { byIndex } from "./by-index.ts";
import type { Part } from "./merge.ts";
import { type AgendaFilter, type AgendaRow, rowOfJob, type Window } from "./window.ts";

/**
 * How many jobs each statement of a page looks at. The page stops when it is full.
 */
const steps = [500, 2_000, 7_500];

/**
 * The jobs with an occurrence in a window, in the order of their primary key. `beside`: only those of
 * other kinds than `cadence`, from their own list.
 */
export async function jobsIn(
  sql: Sql,
  window: Window,
  filter: AgendaFilter,
  { after, limit, beside, now }: { after: string | null; limit: number; beside: boolean; now: number },
): Promise<Part<AgendaRow>> {
  const found: (JobKey & Pick<LookedRow, "held" | "heldUntil">)[] = [];
  let place = after === null ? null : parseJobId(after);
  let isOver = window.from >= window.to;
  for (const looked of isOver ? [] : steps) {
    const page = await look(sql, window, filter, { after: place, looked, beside });
    for (const { fit, held, heldUntil, ...key } of page) {
      place = key;
      if (fit) found.push({ ...key, held, heldUntil });
      if (found.length === limit) break;
    }
    isOver = page.length < looked && found.length < limit;
    if (isOver || found.length === limit) break;
  }
  const jobs = new Map((await readJobsAt(sql, found)).map((job) => [job.id, job]));
  const rows = found.flatMap((key) => {
    const job = jobs.get(jobId(key));
    if (job === undefined) return [];
    const row = rowOfJob(job, { now, held: key.held ? { until: key.heldUntil } : null });
    return [{ row, at: key.occurrence.getTime(), place: jobId(key) }];
  });
  return {
    rows,
    last: isOver || place === null ? null : { at: place.occurrence.getTime(), place: jobId(place) },
  };
}

interface LookedRow extends JobKey {
  kind: JobKind;
  fit: boolean;
  /** The schedule is on hold now. */
  held: boolean;
  heldUntil: Date | null;
}

function look(
  sql: Sql,
  { from, to }: Window,
  filter: AgendaFilter,
  { after, looked, beside }: { after: JobKey | null; looked: number; beside: boolean },
): Promise<readonly LookedRow[]> {
  return byIndex(sql, (tx) => {
    const found = (where: ReturnType<Tx>) => tx`
      (select j.occurrence, j.schedule_id, j.kind, j.n from ${beside ? tx`carillon.jobs_beside` : tx`carillon.jobs`} j
      where ${where} order by j.occurrence, j.schedule_id, j.kind, j.n limit ${looked})`;
    // The rest of an instant by itself: from one comparison of all columns, Postgres would skip no days.
    const rest =
      after === null
        ? tx``
        : tx`${found(tx`j.occurrence = ${after.occurrence} and (j.schedule_id, j.kind, j.n)
            > (${after.scheduleId}::bigint, ${after.kind}::carillon.job_kind, ${after.n}::int)`)} union all`;
    const later =
      after === null ? tx`j.occurrence >= ${new Date(from)}` : tx`j.occurrence > ${after.occurrence}`;
    return tx<LookedRow[]>`
      select l.occurrence, l.schedule_id as "scheduleId", l.kind, l.n, ${fits(tx, filter)} as fit, ${isHeld(tx)} as held, s.held_until as "heldUntil"
      from (
        select * from (${rest} ${found(tx`${later} and j.occurrence < ${new Date(to)}`)}) l
        order by l.occurrence, l.schedule_id, l.kind, l.n limit ${looked}) l
      cross join lateral (select * from carillon.schedules s where s.id = l.schedule_id offset 0) s
      order by l.occurrence, l.schedule_id, l.kind, l.n`;
  });
}
