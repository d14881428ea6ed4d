import type { Mutant } from "../mutant.ts";

const bulkTest = "test/poison/bulk.test.ts";
const findOpen = "lib/job-control/find-open.ts";
const unmade = "lib/job-control/cancel-unmade.ts";
const retryMany = "lib/job-control/retry-many.ts";
const rechecks = "lib/history/rechecks.ts";
const endRechecks = "lib/edit/end-rechecks.ts";

/** Jobs that are retried, rechecked or fired by hand, and cancels of many. */
export const retryRows: readonly Mutant[] = [
  {
    name: "cancel_jobs: a job of a deleted schedule is left as it is",
    file: "lib/job-control/sql/cancel_jobs.sql",
    text: "s.id = j.schedule_id and s.deleted_at is null\n    left join carillon.parcels p on p.id = j.parcel_id\n    where p.id is null",
    replacement:
      "s.id = j.schedule_id\n    left join carillon.parcels p on p.id = j.parcel_id\n    where p.id is null",
    tests: ["test/job-control/job-cancel.test.ts"],
  },
  {
    name: "retry_jobs: a retry waits for edits at the gates",
    file: "lib/job-control/sql/retry_jobs.sql",
    text: "perform carillon.share_gates(p_schedule_ids);",
    replacement: "",
    tests: ["test/job-control/job-retry.test.ts"],
  },
  {
    name: "retry_jobs: the jobs are locked",
    file: "lib/job-control/sql/retry_jobs.sql",
    text: "order by 1, 2, 3, 4 for update of j) l;\n  -- Two retries",
    replacement: "order by 1, 2, 3, 4) l;\n  -- Two retries",
    tests: ["test/job-control/job-retry.test.ts"],
  },
  {
    name: "retry_jobs: a job whose parcel is gone is read again once it is locked",
    file: "lib/job-control/sql/retry_jobs.sql",
    text: "where j.state <> 'waiting' or not exists (select",
    replacement: "where true or not exists (select",
    tests: ["test/job-control/job-retry.test.ts"],
  },
  {
    name: "cancel_jobs: a job whose parcel is gone is cancelled",
    file: "lib/job-control/sql/cancel_jobs.sql",
    text: "where p.id is null or p.id = any(v_locked)\n  ), cancelled",
    replacement: "where p.id = any(v_locked)\n  ), cancelled",
    tests: ["test/job-control/lost-parcels.test.ts"],
  },
  {
    name: "retry_jobs: no job before its due time",
    file: "lib/job-control/sql/retry_jobs.sql",
    text: "greatest(j.due_at, v_now + coalesce(w.after_ms, 0) * interval '1 millisecond') as ready_at",
    replacement: "v_now + coalesce(w.after_ms, 0) * interval '1 millisecond' as ready_at",
    tests: ["test/job-control/job-retry.test.ts"],
  },
  {
    name: "retry_jobs: an old request to cancel is cleared",
    file: "lib/job-control/sql/retry_jobs.sql",
    text: "version = greatest(j.version, p.versions[k.place]), cancel_asked = null",
    replacement: "version = greatest(j.version, p.versions[k.place])",
    tests: ["test/job-control/job-retry.test.ts", "test/job-control/job-cancel.test.ts"],
    equivalent:
      "Every way to a dead or cancelled job has cleared the request already: a settle, the end of a lease, or the cancel itself.",
  },
  {
    name: "retry_jobs: a recheck continues in the current version",
    file: "lib/job-control/sql/retry_jobs.sql",
    text: "version = greatest(j.version, p.versions[k.place]), cancel_asked = null",
    replacement: "cancel_asked = null",
    tests: ["test/job-control/recheck-retry.test.ts"],
  },
  {
    name: "a cancel of many: a job with a request to stop gets no second one",
    file: findOpen,
    text: "and j.cancel_asked is not true offset 0) j",
    replacement: "offset 0) j",
    tests: ["test/job-control/job-bulk.test.ts"],
  },
  {
    name: "a cancel of many: the parcel at which a call stopped is read again",
    file: findOpen,
    text: "String(BigInt(parcel) - 1n)",
    replacement: "parcel",
    tests: ["test/job-control/job-bulk.test.ts"],
  },
  {
    name: "a cancel of many: a failed job is not tried again by the next call",
    file: findOpen,
    text: "jobs.filter((each) => each.parcelId !== parcel || jobId(each) > job)",
    replacement: "jobs",
    tests: [bulkTest],
  },
  {
    name: "a retry of many whose time is up continues behind the jobs that it tried",
    file: retryMany,
    text: "next: jobs[tried - 1]?.place ?? after }",
    replacement: "next: after }",
    tests: [bulkTest],
  },
  {
    name: "bulk: a call goes on behind a job that has failed alone",
    file: "lib/edit/act-in-halves.ts",
    text: "isAnyPassed ||= some.length === 1;\n",
    replacement: "",
    tests: [bulkTest],
  },
  {
    name: "bulk: each call gets past at least one job",
    file: "lib/edit/act-in-halves.ts",
    text: "() => isAnyPassed && timeIsUp(),",
    replacement: "timeIsUp,",
    tests: [bulkTest],
  },
  {
    name: "bulk: a half waits for a lock briefly",
    file: "lib/edit/act-in-halves.ts",
    text: 'if (part === "batch") return boundStatements(tx, batchMsMax);',
    replacement: "return;",
    tests: [bulkTest],
  },
  {
    name: "a cancel of many: only waiting jobs when the filter says so",
    file: findOpen,
    text: "and p.lease_until is null and j.attempt = 0`",
    replacement: "and j.attempt = 0`",
    tests: ["test/job-control/cancel-running.test.ts"],
  },
  {
    name: "a cancel of many: only retrying jobs when the filter says so",
    file: findOpen,
    text: "and p.lease_until is null and j.attempt > 0`",
    replacement: "and p.lease_until is null`",
    tests: ["test/job-control/job-bulk.test.ts"],
  },
  {
    name: "a cancel of enqueued jobs that no tick has made: only the expected version is deleted",
    file: unmade,
    text: 'return { kind: "delete", key, caller: by.caller, ifMatch: [version] };',
    replacement: 'void version;\n      return { kind: "delete", key, caller: by.caller };',
    tests: ["test/job-control/cancel-ahead-edited.test.ts"],
  },
  {
    name: "a retry of many: jobs that died after it began are left out",
    file: retryMany,
    text: "filter.to !== undefined && filter.to < before ? filter.to : before;",
    replacement: "filter.to;\n  void before;",
    tests: ["test/job-control/job-bulk.test.ts"],
  },
  {
    name: "a retry of many: jobs are ready behind those that it let in before",
    file: retryMany,
    text: "let ahead = await owedAhead(",
    replacement: "let ahead = 0 * await owedAhead(",
    tests: ["test/job-control/job-bulk.test.ts"],
  },
  {
    name: "a retry of many: a prefix does not wait for the retries of another",
    file: retryMany,
    text: "where ${prefix} = '' or exists",
    replacement: "where true or ${prefix} = '' or exists",
    tests: ["test/job-control/job-bulk.test.ts"],
  },
  {
    name: "a retry of many: retries that a hold keeps do not count",
    file: retryMany,
    text: "where p.owed and p.held_schedule is null order",
    replacement: "where p.owed order",
    tests: ["test/job-control/job-bulk.test.ts"],
  },
  {
    name: "rechecks: only rechecks of the current target count",
    file: rechecks,
    text: "where j.state = 'waiting' and (j.version >= coalesce(s.fresh_version, 1) or p.lease_until >= ${now})",
    replacement: "where j.state = 'waiting'",
    tests: ["test/history/recheck-overtaken.test.ts"],
  },
  {
    name: "rechecks: a running recheck keeps its schedule from ending",
    file: rechecks,
    text: "(j.version >= coalesce(s.fresh_version, 1) or p.lease_until >= ${now})",
    replacement: "j.version >= coalesce(s.fresh_version, 1)",
    tests: ["test/history/recheck-overtaken.test.ts"],
  },
  {
    name: "the end of rechecks: a running recheck is left",
    file: endRechecks,
    text: "where id = j.parcel_id and lease_until is null offset 0) p",
    replacement: "where id = j.parcel_id offset 0) p",
    tests: ["test/edit/recheck-edits.test.ts"],
  },
  {
    name: "the end of rechecks: a parcel with a granted turn is kept",
    file: endRechecks,
    text: "and p.lease_until is null and p.turn is distinct from 'granted' and not exists (",
    replacement: "and p.lease_until is null and not exists (",
    tests: ["test/edit/recheck-edits.test.ts"],
  },
  {
    name: "the end of rechecks: a parcel with other schedules' jobs is kept",
    file: endRechecks,
    text: "and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p.id)`;",
    replacement: "and j.n = coalesce(k.n, 0) and false)`;",
    tests: ["test/history/recheck-company.test.ts"],
  },
  {
    name: "the end of rechecks: the lanes of cancelled rechecks pass to the next job",
    file: endRechecks,
    text: "from carillon.leave_lanes(${occurrences}::timestamptz[], ${waiting.map(() => scheduleId)}::bigint[],",
    replacement:
      "from carillon.leave_lanes((${occurrences}::timestamptz[])[1:0], ${waiting.map(() => scheduleId)}::bigint[],",
    tests: ["test/history/recheck-lanes.test.ts"],
  },
  {
    name: "cancel_superseded: an edit of other fields keeps the recheck",
    file: "lib/parcel/sql/cancel_superseded.sql",
    text: "and coalesce(s.fresh_version, 1) > j.version",
    replacement: "and s.version > j.version",
    tests: ["test/history/recheck-lanes.test.ts"],
  },
  {
    name: "cancel_superseded: the lane of a cancelled recheck passes to the next job",
    file: "lib/parcel/sql/cancel_superseded.sql",
    text: "array_fill('again'::carillon.job_kind, array[cardinality(v_ns)]), v_ns, p_now) f;",
    replacement:
      "array_fill('again'::carillon.job_kind, array[cardinality(v_ns)]), v_ns, p_now) f where p_now is null;",
    tests: ["test/history/recheck-lanes.test.ts"],
  },
  {
    name: "read-job: a settled job shows no request to stop",
    file: "lib/job/read-job.ts",
    text: "(j.cancel_asked and j.state = 'waiting') is true",
    replacement: "j.cancel_asked is true",
    tests: ["test/job-control/cancel-running.test.ts"],
  },
  {
    name: "a job fired by hand is in its group's lane at once",
    file: "lib/job-control/fire-now.ts",
    text: "where s.id = ${id} and s.lane is not null",
    replacement: "where s.id = ${id} and s.lane is not null and false",
    tests: ["test/job-control/fired-in-lane.test.ts"],
  },
];
