import type { JobRead } from "../job/read-job.ts";

/** A job as callers read it alone, with its payload and its attempts. */
export function jobView(job: JobRead) {
  return {
    ...jobListView(job),
    payload: job.payload ?? null,
    attempts: (job.attempts ?? []).map((each) => ({
      attempt: each.attempt,
      startedAt: each.startedAt,
      finishedAt: each.finishedAt,
      durationMs: each.durationMs,
      outcome: each.outcome,
      error: each.error,
      errorClass: each.errorClass,
      stack: each.stack,
    })),
  };
}

/** A job as it stands in a list: without its payload. */
export function jobListView(job: JobRead) {
  return {
    id: job.id,
    kind: job.kind,
    key: job.key,
    scheduleId: job.scheduleId,
    version: job.version,
    group: job.group,
    occurrence: job.occurrence,
    dueAt: job.dueAt,
    state: job.state,
    reason: job.reason,
    attempt: job.attempt,
    checks: job.checks,
    cancelling: job.cancelling,
    readyAt: job.readyAt,
    startedAt: job.startedAt,
    finishedAt: job.finishedAt,
    latenessMs: job.latenessMs,
    durationMs: job.durationMs,
    error: job.error,
    recheckOf: job.recheckOf,
  };
}
