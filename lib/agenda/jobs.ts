import { byIndex } from "../db/by-index.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { fewSchedules } from "../history/find-schedules.ts";
import { type JobKey, type JobKind, jobId } from "../job/job-id.ts";
import { readJobsAt } from "../job/read-job.ts";
import { firstOf, type Part } from "./merge.ts";
import { type AgendaOutcome, mayHave, type StoredState } from "./outcomes.ts";
import { isMeant, rulesOf } from "./rules.ts";
import { occursAt } from "./slices.ts";
import { type AgendaFilter, type AgendaRow, rowOfJob, type Window } from "./window.ts";

/**
 * How many jobs each statement of a page looks at. The page stops when it is full. For schedules that
 * are not listed by their ids, the schedule of each job is looked up.
 */
const steps = { listed: [500, 2_000, 20_000], unlisted: [500, 2_000, 7_500] };

/** How many jobs a page reads in full to tell which of them have an outcome. */
const readMax = 1_000;

/** Largest number of schedules that are listed by their ids. */
const listedMax = 5_000;

interface JobsPage {
  window: Window;
  /** Beyond it, the job of an occurrence that a live schedule's cadence gives is listed there. */
  line: number;
  after: JobKey | null;
  limit: number;
  outcome: AgendaOutcome | undefined;
  now: number;
}

/**
 * The jobs with an occurrence in a window that no cadence gives beyond the line, in the order of their
 * primary key.
 */
export async function jobsIn(
  sql: Sql,
  filter: AgendaFilter,
  { window, line, after, limit, outcome, now }: JobsPage,
): Promise<Part<AgendaRow>> {
  const found: (JobKey & Pick<LookedRow, "heldSince" | "heldUntil">)[] = [];
  let place = after;
  let isOver = window.from >= window.to;
  // A job that is computed counts: its row fills the page from the other stream.
  let matched = 0;
  const most = outcome === undefined ? limit : Math.max(limit, readMax);
  for await (const { page, end } of looks(sql, filter, {
    window,
    after,
    most,
    withState: outcome !== undefined,
  })) {
    const isComputed = await computedAmong(sql, page, line);
    for (const row of page) {
      const { fit, heldSince, heldUntil, scheduleId, occurrence, kind, n } = row;
      place = { scheduleId, occurrence, kind, n };
      if (!fit || !mayHave(outcome, row)) continue;
      matched += 1;
      if (!isComputed(row)) found.push({ ...place, heldSince, heldUntil });
      if (matched === most) break;
    }
    if (matched === most) break;
    isOver = end === null;
    place = end;
  }
  const jobs = new Map((await readJobsAt(sql, found)).map((job) => [job.id, job]));
  const rows = found.flatMap((key) => {
    const job = jobs.get(jobId(key));
    if (job === undefined) return [];
    const row = rowOfJob(job, { now, held: key });
    if (outcome !== undefined && row.outcome !== outcome) return [];
    return [{ row, at: key.occurrence.getTime(), place: jobId(key) }];
  });
  const first = rows.length > limit ? firstOf(rows, limit) : null;
  if (first !== null) return first;
  return {
    rows,
    last: isOver || place === null ? null : { at: place.occurrence.getTime(), place: jobId(place) },
  };
}

/** Looks at the next jobs, in growing steps, until no job follows or all steps are done. */
async function* looks(
  sql: Sql,
  filter: AgendaFilter,
  {
    window,
    after,
    most,
    withState,
  }: Pick<JobsPage, "window" | "after"> & { most: number; withState: boolean },
): AsyncGenerator<LookedPage> {
  if (window.from >= window.to) return;
  const few = await fewSchedules(sql, filter, { named: listedMax, found: listedMax });
  const ids = few === null || filter.rule === undefined ? few : await idsOf(sql, few, filter.rule);
  let place = after;
  for (const looked of ids === null ? steps.unlisted : steps.listed) {
    const bounds = { after: place, looked, withState };
    const found =
      ids === null
        ? await look(sql, window, filter, bounds)
        : await lookAmong(sql, window, ids, { ...bounds, most });
    yield found;
    if (found.end === null) return;
    place = found.end;
  }
}

/** Those of some schedules that have a rule. */
async function idsOf(sql: Sql, ids: readonly string[], rule: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select s.id from carillon.schedules s where s.id = any(${[...ids]}::bigint[]) and s.rule = ${rule}::bigint`;
  return rows.map(({ id }) => id);
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
  /** Present only with a filter by outcome. The primary key has the other columns of the job. */
  state?: StoredState;
  heldSince: Date | null;
  heldUntil: Date | null;
  /** Null if the schedule is deleted. */
  rule: string | null;
  phase: string | null;
}

/** Jobs in the order of their primary key. */
interface LookedPage {
  page: readonly LookedRow[];
  /** The last job that was looked at. Null if no job of the window follows. */
  end: JobKey | null;
}

interface LookBounds {
  after: JobKey | null;
  looked: number;
  withState: boolean;
}

const state = (tx: Tx, withState: boolean, of: "j" | "l") => (withState ? tx`, ${tx(of)}.state` : tx``);

const schedule = (tx: Tx) => tx`
  s.held_since as "heldSince", s.held_until as "heldUntil", case when s.deleted_at is null then s.rule end as rule, s.phase`;

async function look(
  sql: Sql,
  { from, to }: Window,
  filter: AgendaFilter,
  { after, looked, withState }: LookBounds,
): Promise<LookedPage> {
  const page = await byIndex(sql, (tx) => {
    const found = (where: ReturnType<Tx>) => tx`
      (select j.occurrence, j.schedule_id, j.kind, j.n ${state(tx, withState, "j")} from carillon.jobs j
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
      select l.occurrence, l.schedule_id as "scheduleId", l.kind, l.n ${state(tx, withState, "l")}, ${isMeant(tx, filter)} as fit, ${schedule(tx)}
      from (
        select * from (${rest} ${found(tx`${later} and j.occurrence < ${new Date(to)}`)}) l
        order by l.occurrence, l.schedule_id, l.kind, l.n limit ${looked}) l
      cross join lateral (select * from carillon.schedules s where s.id = l.schedule_id offset 0) s
      order by l.occurrence, l.schedule_id, l.kind, l.n`;
  });
  return { page, end: page.length < looked ? null : (page.at(-1) ?? null) };
}

/**
 * The first jobs of these schedules among the next jobs of all. A first statement finds where those
 * end, so that jobs of other schedules are left out without looking their schedules up.
 */
async function lookAmong(
  sql: Sql,
  window: Window,
  ids: readonly string[],
  { after, looked, withState, most }: LookBounds & { most: number },
): Promise<LookedPage> {
  const [end = null] = await byIndex(
    sql,
    (tx) => tx<JobKey[]>`
      select j.occurrence, j.schedule_id as "scheduleId", j.kind, j.n from carillon.jobs j where ${within(tx, window, after)}
      order by j.occurrence, j.schedule_id, j.kind, j.n offset ${looked - 1}::int limit 1`,
  );
  const upTo = (tx: Tx) =>
    end === null
      ? tx``
      : tx`and j.occurrence <= ${end.occurrence} and (j.occurrence, j.schedule_id, j.kind, j.n)
          <= (${end.occurrence}::timestamptz, ${end.scheduleId}::bigint, ${end.kind}::carillon.job_kind, ${end.n}::int)`;
  const page = await byIndex(
    sql,
    (tx) => tx<LookedRow[]>`
      select l.occurrence, l.schedule_id as "scheduleId", l.kind, l.n ${state(tx, withState, "l")}, true as fit, ${schedule(tx)}
      from (
        select j.occurrence, j.schedule_id, j.kind, j.n ${state(tx, withState, "j")} from carillon.jobs j
        where ${within(tx, window, after)} ${upTo(tx)} and j.schedule_id = any(${[...ids]}::bigint[])
        order by j.occurrence, j.schedule_id, j.kind, j.n limit ${most}) l
      cross join lateral (select * from carillon.schedules s where s.id = l.schedule_id offset 0) s
      order by l.occurrence, l.schedule_id, l.kind, l.n`,
  );
  return { page, end: page.length < most ? end : (page.at(-1) ?? null) };
}

/** SQL condition: job `j` is in the window, behind a place. A bound by occurrence alone skips days. */
function within(tx: Tx, { from, to }: Window, after: JobKey | null) {
  const behind =
    after === null
      ? tx`j.occurrence >= ${new Date(from)}`
      : tx`j.occurrence >= ${after.occurrence} and (j.occurrence, j.schedule_id, j.kind, j.n)
          > (${after.occurrence}::timestamptz, ${after.scheduleId}::bigint, ${after.kind}::carillon.job_kind, ${after.n}::int)`;
  return tx`${behind} and j.occurrence < ${new Date(to)}`;
}
