import type { Mutant } from "../mutant.ts";
import { holdRows } from "./holds.ts";
import { retryRows } from "./retry.ts";

const label = "lib/batch/cancel-label.ts";
const cancelJobs = "lib/edit/cancel-jobs.ts";
const enqueue = "lib/batch/enqueue-job.ts";
const once = "lib/job-control/finished-one-time.ts";

/** Jobs that are cancelled, retried, replaced or ended on purpose. */
export const control: readonly Mutant[] = [
  ...retryRows,
  ...holdRows,
  {
    name: "cancel_jobs: a cancel waits for edits at the gates",
    file: "lib/job-control/sql/cancel_jobs.sql",
    text: "perform carillon.share_gates(p_schedule_ids);",
    replacement: "",
    tests: ["test/job-control/job-cancel.test.ts"],
  },
  {
    name: "cancel_jobs: a running job only gets a request to stop",
    file: "lib/job-control/sql/cancel_jobs.sql",
    text: "where not o.under_way and j.occurrence",
    replacement: "where j.occurrence",
    tests: ["test/job-control/job-cancel.test.ts"],
  },
  {
    name: "cancel_jobs: a parcel with a granted turn is kept",
    file: "lib/job-control/sql/cancel_jobs.sql",
    text: "where p.id = any(v_locked) and p.lease_until is null and p.turn is distinct from 'granted' and not exists",
    replacement: "where p.id = any(v_locked) and p.lease_until is null and not exists",
    tests: ["test/job-control/job-cancel.test.ts"],
  },
  {
    name: "cancel_jobs: a parcel with other jobs is kept",
    file: "lib/job-control/sql/cancel_jobs.sql",
    text: "and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p.id);\n  if (v_laned",
    replacement: "and j.n = coalesce(k.n, 0) and false);\n  if (v_laned",
    tests: ["test/job-control/job-cancel.test.ts"],
  },
  {
    name: "cancelJobs: a job that was moved is checked again",
    file: cancelJobs,
    text: 'left = done.filter(({ became }) => became === "moved");',
    replacement: "left = [];",
    tests: ["test/batch/moved-jobs.test.ts"],
  },
  {
    name: "a group's cancel: a schedule that has left the group meanwhile is kept",
    file: label,
    text: "schedules.filter(({ body }) => labelsBesides([label], labelsOf(body)).length === 0);",
    replacement: "schedules;\n  void [labelsBesides, labelsOf];",
    tests: ["test/batch/label-members.test.ts"],
  },
  {
    name: "a group's cancel: a delete of members takes the gate",
    file: label,
    text: "lockForChange(tx, { shards: [shard] }),",
    replacement: "lockForChange(tx, { shards: [shard], gates: [] }),",
    tests: ["test/batch/label-members.test.ts"],
  },
  {
    name: "a group's cancel: only keys that the caller reaches",
    file: label,
    text: "and group_key = ${name} and key > ${after} and key >= ${prefix} and key < ${to}",
    replacement: "and group_key = ${name} and key > ${after} and ${prefix} <> ${to}",
    tests: ["test/batch/label-members.test.ts"],
  },
  {
    name: "a tag's cancel: only keys that the caller reaches",
    file: label,
    text: "and t.key > ${after} and t.key >= ${prefix} and t.key < ${to}",
    replacement: "and t.key > ${after} and ${prefix}::text <> ${to}",
    tests: ["test/batch/label-members.test.ts"],
  },
  {
    name: "a group's cancel: jobs of the group that passed another shard's lane get a request to stop",
    file: label,
    text: "(shard = ${shard} or laned)",
    replacement: "shard = ${shard}",
    tests: ["test/batch/label-members.test.ts"],
  },
  {
    name: "a group's cancel: only the group's own jobs of a parcel get a request to stop",
    file: label,
    text: "p.lease_until is not null and k.schedule_id = any(${ids}::bigint[])\n",
    replacement: "p.lease_until is not null and ${ids}::bigint[] is not null\n",
    tests: ["test/batch/label-members.test.ts"],
  },
  {
    name: "a group's cancel: a page is repeated when time was up",
    file: label,
    text: "next: page[firstLeft - 1]?.key ?? after };",
    replacement: "next: page.at(-1)?.key ?? after };",
    tests: ["test/batch/group-cancel.test.ts"],
  },
  {
    name: "a group's cancel: the next call skips a member that cannot be deleted",
    file: label,
    text: "next: page[firstLeft - 1]?.key ?? after };",
    replacement: "next: after };",
    tests: ["test/poison/bulk.test.ts"],
  },
  {
    name: "an enqueue: the key of a schedule that is no single job is refused",
    file: enqueue,
    text: "if (!isJob(current))",
    replacement: "if (!isJob(current) && false)",
    tests: ["test/batch/enqueue-keeps.test.ts"],
  },
  {
    name: "an enqueue: `keep` leaves an unfinished job",
    file: enqueue,
    text: 'if (open !== null && params.ifExists === "keep") return null;',
    replacement: "",
    tests: ["test/batch/enqueue-job.test.ts"],
  },
  {
    name: "an enqueue: a due job that has not started is cancelled",
    file: enqueue,
    text: "return { ...decision, freed: await cancelReplaced(tx, job, params.caller) };",
    replacement: "void cancelReplaced;\n      return decision;",
    tests: ["test/batch/enqueue-job.test.ts"],
  },
  {
    name: "an enqueue: it starts over when the job to be replaced was moved meanwhile",
    file: enqueue,
    text: 'if (done.some(({ became }) => became === "moved")) throw new RestartTransaction();',
    replacement: "void [done, RestartTransaction];",
    tests: ["test/batch/moved-jobs.test.ts"],
  },
  {
    name: "an enqueue: a started job accepts no other payload",
    file: enqueue,
    text: "refuseSpent(job);\n        return decision;",
    replacement: "void refuseSpent;\n        return decision;",
    tests: ["test/batch/enqueue-job.test.ts"],
  },
  {
    name: "an enqueue: a running job continues",
    file: enqueue,
    text: '|| job.state === "running") return decision;',
    replacement: ") return decision;",
    tests: ["test/batch/enqueue-keeps.test.ts"],
  },
  {
    name: "settled once: a schedule is not over before its job is due",
    file: once,
    text: "and j.due_at <= carillon.clock() and",
    replacement: "and",
    tests: ["test/job-control/delete-ended-looks.test.ts"],
  },
  {
    name: "settled once: a schedule with jobs beside the cadence is left to the full check",
    file: once,
    text: "where k.id not in (select b.schedule_id from beside b)`",
    replacement: "where true or k.id not in (select b.schedule_id from beside b)`",
    tests: ["test/job-control/delete-ended.test.ts"],
  },
  {
    name: "settled once: a held schedule is not over",
    file: once,
    text: "and s.spec_version = 1 and s.held_since is null and",
    replacement: "and s.spec_version = 1 and",
    tests: ["test/job-control/delete-ended-looks.test.ts"],
  },
  {
    name: "settled once: a schedule that was edited is left to the full check",
    file: once,
    text: "and s.spec_version = 1 and s.held_since",
    replacement: "and s.held_since",
    tests: ["test/job-control/delete-ended-looks.test.ts"],
  },
  {
    name: "a failed row does not delay the others",
    file: "lib/quarantine/try-rows.ts",
    text: "      await putAside(quarantine, [failedOf(row, error)]);\n      continue;",
    replacement: "      throw error;",
    tests: ["test/lifecycle/wanted-holds-fail.test.ts"],
  },
];
