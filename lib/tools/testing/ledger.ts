import type { Sql } from "../../db/connect.ts";
import { type JobKind, jobId } from "../../job/job-id.ts";
import { reasonOfJob, stateOfJob } from "../../job/read-job.ts";
import type { TestJob } from "./shapes.ts";

interface Row {
  scheduleId: string;
  key: string;
  kind: JobKind;
  n: number;
  occurrence: Date;
  dueAt: Date;
  state: TestJob["state"];
  /** Whether its row may still change. */
  isOpen: boolean;
  reason: string | null;
  attempts: number;
  version: number;
  startedAt: Date | null;
  finishedAt: Date | null;
  error: string | null;
}

/** An occurrence may be as long before its due time as the longest spread or slot. */
const openForMs = 2 * 86_400_000;

/**
 * A copy of the jobs, which a test reads without waiting. It keeps what the retention has dropped:
 * a test that lets a year pass counts the jobs of the whole year.
 */
export class Ledger {
  readonly #sql: Sql;
  #closed: Row[] = [];
  #recent: Row[] = [];
  /** The rows from here on are read again each time. */
  #from: Date;

  constructor(sql: Sql, start: Date) {
    this.#sql = sql;
    this.#from = new Date(start.getTime() - openForMs);
  }

  async read(now: Date): Promise<void> {
    this.#recent = await this.#sql<Row[]>`
      select s.id as "scheduleId", s.key, j.kind, j.n, j.occurrence, j.due_at as "dueAt",
        ${stateOfJob(this.#sql)} as state, ${reasonOfJob(this.#sql)} as reason, j.state = 'waiting' as "isOpen", j.attempt as attempts, j.version,
        j.started_at as "startedAt", j.finished_at as "finishedAt", j.error
      from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
      left join carillon.parcels p on p.id = j.parcel_id
      where j.occurrence >= ${this.#from}
      order by j.occurrence, s.key, j.kind, j.n`;
    const open = this.#recent.find(({ isOpen }) => isOpen)?.occurrence.getTime();
    const from = Math.min(now.getTime() - openForMs, open ?? Number.POSITIVE_INFINITY);
    if (from <= this.#from.getTime()) return;
    this.#from = new Date(from);
    this.#closed.push(...this.#recent.filter(({ occurrence }) => occurrence.getTime() < from));
    this.#recent = this.#recent.filter(({ occurrence }) => occurrence.getTime() >= from);
  }

  /** The jobs that are due by now, in the order of their occurrences. */
  jobs(now: Date, key?: string): TestJob[] {
    return [...this.#closed, ...this.#recent]
      .filter((row) => row.dueAt <= now && (key === undefined || row.key === key))
      .map(({ scheduleId, n, ...row }) => ({
        id: jobId({ scheduleId, n, kind: row.kind, occurrence: row.occurrence }),
        key: row.key,
        kind: row.kind,
        occurrence: row.occurrence.toISOString(),
        dueAt: row.dueAt.toISOString(),
        state: row.state,
        reason: row.reason,
        attempts: row.attempts,
        version: row.version,
        startedAt: row.startedAt?.toISOString() ?? null,
        finishedAt: row.finishedAt?.toISOString() ?? null,
        error: row.error,
      }));
  }
}
