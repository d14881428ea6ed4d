import { byIndex } from "../db/by-index.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { type JobKey, type JobKind, jobId } from "../job/job-id.ts";
import { readJobsAt } from "../job/read-job.ts";
import { fits } from "../schedule/filter-schedules.ts";
import type { Part } from "./merge.ts";
import { rulesOf } from "./rules.ts";
import { occursAt } from "./slices.ts";
import { type AgendaFilter, type AgendaRow, rowOfJob, type Window } from "./window.ts";

/**
 * How many jobs each statement of a page looks at. The page stops when it is full.
 */
const steps = [500, 2_000, 7_500];

interface JobsPage {
  window: Window;
  /** Beyond it, the job of an occurrence that a live schedule's cadence gives is listed there. */
  line: number;
  after: JobKey | null;
  limit: number;
  now: number;
}

/**
 * The jobs with an occurrence in a window that no cadence gives beyond the line, in the order of their
 * primary key.
 */
export async function jobsIn(
  sql: Sql,
  filter: AgendaFilter,
  { window, line, after, limit, now }: JobsPage,
): Promise<Part<AgendaRow>> {
  const found: (JobKey & Pick<LookedRow, "heldSince" | "heldUntil">)[] = [];
  let place = after;
  let isOver = window.from >= window.to;
  // A job that is computed counts: its row fills the page from the other stream.
  let matched = 0;
  for (const looked of isOver ? [] : steps) {
    const page = await look(sql, window, filter, { after: place, looked });
    const isComputed = await computedAmong(sql, page, line);
    for (const row of page) {
      const { fit, heldSince, heldUntil, scheduleId, occurrence, kind, n } = row;
      place = { scheduleId, occurrence, kind, n };
      if (!fit) continue;
      matched += 1;
      if (!isComputed(row)) found.push({ ...place, heldSince, heldUntil });
      if (matched === limit) break;
    }
    isOver = page.length < looked && matched < limit;
    if (isOver || matched === limit) break;
  }
  const jobs = new Map((await readJobsAt(sql, found)).map((job) => [job.id, job]));
  const rows = found.flatMap((key) => {
    const job = jobs.get(jobId(key));
    if (job === undefined) return [];
    const row = rowOfJob(job, { now, held: key });
    return [{ row, at: key.occurrence.getTime(), place: jobId(key) }];
  });
  return {
    rows,
    last: isOver || place === null ? null : { at: place.occurrence.getTime(), place: jobId(place) },
  };
}

/** Tells of the jobs of a page whether they lie beyond the line at an occurrence of a live schedule. */
async function computedAmong(
  sql: Sql,
  page: readonly LookedRow[],
  line: number,
): Promise<(row: LookedRow) => boolean> {
  const beyond = page.filter(
    ({ fit, kind, occurrence }) => fit && kind === "cadence" && occurrence.getTime() > line,
  );
  const numbers = new Set(beyond.flatMap(({ rule }) => (rule === null ? [] : [Number(rule)])));
  const rules = new Map((await rulesOf(sql, [...numbers])).map((rule) => [rule.rule, rule]));
  return ({ rule: number, phase, kind, occurrence }) => {
    const rule = number === null ? undefined : rules.get(Number(number));
    if (rule === undefined || kind !== "cadence" || occurrence.getTime() <= line) return false;
    return occursAt(rule, Number(phase), occurrence.getTime());
  };
}

interface LookedRow extends JobKey {
  kind: JobKind;
  fit: boolean;
  heldSince: Date | null;
  heldUntil: Date | null;
  /** Null if the schedule is deleted. */
  rule: string | null;
  phase: string | null;
}

function look(
  sql: Sql,
  { from, to }: Window,
  filter: AgendaFilter,
  { after, looked }: { after: JobKey | null; looked: number },
): Promise<readonly LookedRow[]> {
  return byIndex(sql, (tx) => {
    const found = (where: ReturnType<Tx>) => tx`
      (select j.occurrence, j.schedule_id, j.kind, j.n from carillon.jobs j
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
      select l.occurrence, l.schedule_id as "scheduleId", l.kind, l.n, ${fits(tx, filter)} as fit, s.held_since as "heldSince", s.held_until as "heldUntil",
        case when s.deleted_at is null then s.rule end as rule, s.phase
      from (
        select * from (${rest} ${found(tx`${later} and j.occurrence < ${new Date(to)}`)}) l
        order by l.occurrence, l.schedule_id, l.kind, l.n limit ${looked}) l
      cross join lateral (select * from carillon.schedules s where s.id = l.schedule_id offset 0) s
      order by l.occurrence, l.schedule_id, l.kind, l.n`;
  });
}
