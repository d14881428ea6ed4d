import { expect, test } from "vitest";
import type { AuditEntry } from "../../../lib/client/audit.ts";
import { auditSentence } from "../../../lib/page/views/audit/audit-sentence.ts";

const entry = (action: string, detail: AuditEntry["detail"]): AuditEntry => ({
  id: "1",
  at: "2026-03-02T10:00:00.000Z",
  actor: "ann",
  action,
  subject: "billing:1",
  version: 1,
  detail,
  origin: null,
  prefix: null,
  changes: [],
});

test.each<[string, AuditEntry["detail"], string]>([
  ["schedules.paused", { soFar: { done: 1_200, failed: 0 } }, "1,200 changed so far, and no end is recorded"],
  ["schedules.paused", { done: 3, failed: 1, reason: "freeze" }, "3 changed, 1 failed, “freeze”"],
  ["schedule.restored", { version: 2 }, "version 2"],
  ["schedule.created", { version: 2, deletedAt: null }, "again, from version 2 of the deleted one"],
  ["schedule.created", {}, ""],
  ["jobs.retried", { jobs: 1 }, "1 job"],
  ["tag.pause-completed", { owner: "ops", members: 123 }, "in the name of ops, 123 schedules"],
  ["tag.paused", { until: "2026-03-02T12:00:00+01:00" }, "until 2026-03-02T11:00:00.000Z"],
])("The audit tells of %s with the detail %j: %s", (action, detail, rest) => {
  expect(auditSentence(entry(action, detail)).rest).toBe(rest);
});
