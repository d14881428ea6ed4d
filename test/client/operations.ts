import type { Carillon, Pages } from "../../lib/client/main.ts";

/**
 * How the client calls an operation of the API, with all parameters, and the names of its request
 * and answer types.
 */
export interface Reached {
  call(carillon: Carillon): Promise<unknown>;
  /** A type of the client; absent where there is no body. */
  answer?: string;
  /** Where answers differ by their status. */
  answers?: Readonly<Record<string, string>>;
  body?: string;
}

const at = new Date("2026-12-01T09:00:00Z");
const schedule = { when: "in 3h", target: { queue: "q" } } as const;
const edit = { ifMatch: 1 } as const;
const put = { ifMatch: 1, ifNoneMatch: "*" } as const;
const owners = { key: "k", prefix: "k", group: "g", tag: "t", target: "queue" };
const found = { reason: "r", errorGroup: "5d1c0e7a94b2", from: at, to: at };
const late = { lateBy: "5m" };
const labels = { prefix: "k", group: "g", tag: "t", target: "queue" };
const agendaLabels = { ...labels, rule: "cadence-7" };
const searched = {
  prefix: "k",
  group: "g",
  tag: "t",
  state: "active",
  target: "queue",
  createdBy: "ann",
  calendar: "days",
  failing: true,
  nextFrom: at,
  nextTo: at,
} as const;

const page = (list: Pages<unknown>) => list.page("c");
const listed = { limit: 10 };

export const operations: Readonly<Record<string, Reached>> = {
  health: { call: (c) => c.health(), answer: '{ status: "ok" }' },
  openApi: { call: (c) => c.openapi(), answer: "{ [name: string]: Json }" },

  putSchedule: {
    call: (c) => c.schedules.put("k", schedule, put),
    answer: "Edited",
    body: "KeyedScheduleBody",
  },
  createSchedule: { call: (c) => c.schedules.create(schedule), answer: "Edited", body: "KeyedScheduleBody" },
  patchSchedule: { call: (c) => c.schedules.patch("k", { tags: null }, edit), answer: "Edited" },
  getSchedule: { call: (c) => c.schedules.get("k"), answer: "Schedule" },
  deleteSchedule: { call: (c) => c.schedules.delete("k", edit) },
  pauseSchedule: {
    call: (c) => c.schedules.pause("k", { until: at }, edit),
    answer: "Edited",
    body: "PauseParams",
  },
  resumeSchedule: { call: (c) => c.schedules.resume("k", {}, edit), answer: "Edited", body: "ResumeParams" },
  listSchedules: {
    call: (c) => page(c.schedules.list({ ...searched, ...listed })),
    answer: "Page<ScheduleSummary>",
  },
  countSchedules: { call: (c) => c.schedules.count(searched), answer: "ScheduleCount" },
  batchSchedules: {
    call: (c) => c.batch([{ put: { key: "k", ...schedule } }], { atomic: true }),
    answer: "{ results: OperationResult[] }",
  },
  nextOccurrences: { call: (c) => c.schedules.next("k", { n: 3, from: at }), answer: "NextOccurrences" },
  preview: { call: (c) => c.schedules.preview({ when: "in 3h" }), answer: "Preview", body: "PreviewBody" },
  explain: { call: (c) => c.schedules.explain("k", at), answer: "Explanation" },
  listScheduleVersions: { call: (c) => page(c.schedules.versions("k", listed)), answer: "Page<Version>" },
  restoreVersion: {
    call: (c) => c.schedules.tryRestore("k", 1, put),
    answers: { 200: "Edited | RestorePreview", 201: "Edited" },
  },
  pauseManySchedules: {
    call: (c) => c.schedules.changeMany({ verb: "pause", filter: searched, until: at }, { cursor: "c" }),
    answer: "BulkDone | BulkPreview",
  },
  resumeManySchedules: {
    call: (c) => c.schedules.changeMany({ verb: "resume", filter: searched }, { cursor: "c" }),
    answer: "BulkDone | BulkPreview",
  },
  deleteManySchedules: {
    call: (c) => c.schedules.changeMany({ verb: "delete", keys: ["a"], all: true }, { cursor: "c" }),
    answer: "BulkDone | BulkPreview",
  },
  patchManySchedules: {
    call: (c) =>
      c.schedules.changeMany({ verb: "patch", filter: searched, patch: { tags: null } }, { cursor: "c" }),
    answer: "BulkDone | BulkPreview",
  },
  fireSchedule: {
    call: (c) => c.schedules.fire("k", { payload: 1 }),
    answer: "Job",
    body: "{ payload?: Json }",
  },
  backfillSchedule: {
    call: (c) => c.schedules.backfill("k", { from: at, to: at }),
    answer: "BackfillDone",
    body: "BackfillParams",
  },
  listScheduleJobs: { call: (c) => page(c.schedules.jobs("k", listed)), answer: "Page<JobSummary>" },

  enqueueJob: { call: (c) => c.jobs.enqueue({ target: { queue: "q" } }), answer: "Job", body: "EnqueueBody" },
  listJobs: {
    call: (c) =>
      page(
        c.jobs.list({
          state: "running",
          upcoming: false,
          entry: "1",
          ...late,
          ...owners,
          ...found,
          ...listed,
        }),
      ),
    answer: "Page<JobSummary>",
  },
  getJob: { call: (c) => c.jobs.get("1"), answer: "Job" },
  cancelJob: { call: (c) => c.jobs.cancel("1"), answer: "Job", body: "{ reason?: string }" },
  retryJob: { call: (c) => c.jobs.retry("1"), answer: "Job", body: "{ reason?: string }" },
  retryJobs: {
    call: (c) => c.jobs.retryMany({ state: "dead", ...owners, ...found, ...late }, { cursor: "c" }),
    answers: { 200: "JobsDryRun", 202: "RetriedMany" },
    body: "{ filter: RetryFilter; limit?: number; reason?: string; dryRun?: boolean }",
  },
  cancelJobs: {
    call: (c) => c.jobs.cancelMany(owners, { cursor: "c" }),
    answers: { 200: "JobsDryRun", 202: "CancelledMany" },
    body: "{ filter: CancelFilter; limit?: number; reason?: string; dryRun?: boolean }",
  },
  groupJobs: {
    call: (c) =>
      c.jobs.groups({ state: "dead", by: "target,error", ...owners, ...found, ...listed, cursor: "c" }),
    answer: "JobGroups",
  },

  countJobs: {
    call: (c) => c.jobs.count({ state: "dead", ...owners, ...found, ...late, upcoming: false, entry: "1" }),
    answer: "{ count: number; more: boolean }",
  },
  countJobStates: { call: (c) => c.jobs.states(["1", "2"]), answer: "JobsByState" },

  listGroups: {
    call: (c) => page(c.groups.list({ prefix: "g", ...listed })),
    answer: "Page<ListedGroup>",
  },
  getGroup: {
    call: (c) => c.groups.get("g", { ...listed, cursor: "c" }),
    answer: "Members & { group: string }",
  },
  pauseGroup: {
    call: (c) => c.groups.pause("g", {}, { cursor: "c" }),
    answer: "HoldDone",
    body: "PauseParams",
  },
  resumeGroup: {
    call: (c) => c.groups.resume("g", {}, { cursor: "c" }),
    answer: "HoldDone",
    body: "ResumeParams",
  },
  cancelGroup: {
    call: (c) => c.groups.cancel("g", {}, { cursor: "c" }),
    answer: "CancelDone",
    body: "{ reason?: string | null }",
  },
  getTag: { call: (c) => c.tags.get("t", { ...listed, cursor: "c" }), answer: "Members & { tag: string }" },
  pauseTag: { call: (c) => c.tags.pause("t", {}, { cursor: "c" }), answer: "HoldDone", body: "PauseParams" },
  resumeTag: {
    call: (c) => c.tags.resume("t", {}, { cursor: "c" }),
    answer: "HoldDone",
    body: "ResumeParams",
  },
  cancelTag: {
    call: (c) => c.tags.cancel("t", {}, { cursor: "c" }),
    answer: "CancelDone",
    body: "{ reason?: string | null }",
  },

  listHolds: {
    call: (c) =>
      page(c.holds({ scope: "group", owner: "o", prefix: "k", endsBefore: at, ended: false, ...listed })),
    answer: "Page<BoardHold>",
  },

  putCalendar: {
    call: (c) => c.calendars.put("n", { dates: ["12-25"] }, put),
    answer: "PutCalendar",
    body: "CalendarBody & { name?: string }",
  },
  previewCalendar: {
    call: (c) => c.calendars.preview("n", { dates: ["12-25"] }),
    answer: "CalendarPreview",
    body: "CalendarBody & { name?: string }",
  },
  getCalendar: { call: (c) => c.calendars.get("n"), answer: "Calendar" },
  deleteCalendar: { call: (c) => c.calendars.delete("n", edit) },
  listCalendars: { call: (c) => page(c.calendars.list(listed)), answer: "Page<CalendarSummary>" },

  putLimits: {
    call: (c) => c.limits.put("queue/q", { concurrency: 1 }, put),
    answer: "Limits",
    body: "LimitsBody",
  },
  getLimits: { call: (c) => c.limits.get("queue/q"), answer: "Limits" },
  deleteLimits: { call: (c) => c.limits.delete("queue/q", edit) },
  listLimits: { call: (c) => page(c.limits.list(listed)), answer: "Page<Limits>" },

  getZoneData: { call: (c) => c.zoneData.get(), answer: "ZoneRelease" },
  listZoneDataMoves: {
    call: (c) => page(c.zoneData.moves("2026a", listed)),
    answer: "Page<ZoneMove> & { kept: number }",
  },

  listProblems: { call: (c) => c.problems(), answer: "Problems" },
  getForecast: {
    call: (c) => c.forecast({ from: at, minutes: 5, spread: "10m", by: "tag", prefix: "k" }),
    answer: "Forecast",
  },
  listStats: { call: (c) => c.stats({ prefix: "k" }), answer: "Stats" },
  listSeries: {
    call: (c) => page(c.series({ ...owners, from: at, to: at, step: "5m", ...listed })),
    answer: "Page<SeriesStep> & SeriesHead",
  },
  listOutages: { call: (c) => page(c.outages({ from: at, to: at, ...listed })), answer: "Page<Outage>" },
  listOccurrences: {
    call: (c) =>
      page(c.agenda({ from: at, to: at, ...agendaLabels, outcome: "held", timezone: "UTC", ...listed })),
    answer: "AgendaPage",
  },
  countOccurrences: {
    call: (c) => c.agendaCounts({ from: at, to: at, ...agendaLabels }),
    answer: "AgendaCounts",
  },
  countOccurrencesBySchedule: {
    call: (c) => c.agendaSchedules({ from: at, to: at, ...agendaLabels, outcome: "held" }),
    answer: "AgendaSchedules",
  },
  listScheduleOccurrences: {
    call: (c) => c.schedules.occurrences("k", { from: at, to: at, cursor: "c", ...listed }),
    answer: "Strip",
  },
  lastOccurrences: {
    call: (c) => c.lastRuns({ keys: ["k"] }),
    answer: "LastRuns",
    body: "LastRunsBody",
  },

  createToken: {
    call: (c) => c.tokens.create({ name: "ci", scope: "read" }),
    answer: "NewToken",
    body: "TokenBody",
  },
  getOwnToken: { call: (c) => c.tokens.own(), answer: "OwnToken" },
  getToken: { call: (c) => c.tokens.get("1"), answer: "TokenSummary" },
  listTokens: { call: (c) => page(c.tokens.list(listed)), answer: "Page<TokenSummary>" },
  rotateToken: { call: (c) => c.tokens.rotate("1"), answer: "NewToken", body: "{ overlap?: string }" },
  listQuotas: {
    call: (c) => page(c.tokens.quotas(listed)),
    answer: "Page<Quotas> & { calendars: QuotaUse }",
  },
  listCredentialKeys: { call: (c) => c.credentialKeys.list(), answer: "{ items: CredentialKey[] }" },
  makeCredentialKey: { call: (c) => c.credentialKeys.make(), answer: "CredentialKey" },
  sealCredentialsAgain: {
    call: (c) => c.credentialKeys.sealAgain({ cursor: "c" }),
    answer: "SealedAgain",
  },
  beginMove: {
    call: (c) => c.moves.begin({ prefix: "k", to: "https://b.example.com" }),
    answer: "Move",
    body: "{ prefix: string; to: string }",
  },
  listMoves: { call: (c) => c.moves.list(), answer: "{ items: Move[] }" },
  getMove: { call: (c) => c.moves.get("1"), answer: "MoveRead" },
  stepMove: {
    call: (c) => c.moves.step("1", { step: "parts" }),
    answer: "MoveStepAnswers[keyof MoveStepAnswers]",
    body: "MoveStep",
  },
  forgetMove: { call: (c) => c.moves.forget("1") },
  beginArrival: {
    call: (c) => c.arrivals.begin("1", { prefix: "k", from: "https://a.example.com" }),
    answer: "Move",
    body: "{ prefix: string; from: string }",
  },
  getArrival: { call: (c) => c.arrivals.get("1"), answer: "ArrivalRead" },
  stepArrival: {
    call: (c) => c.arrivals.step("1", { step: "end" }),
    answer: "ArrivalStepAnswers[keyof ArrivalStepAnswers]",
    body: "ArrivalStep",
  },
  deleteToken: { call: (c) => c.tokens.delete("1") },
  getAudit: {
    call: (c) =>
      page(
        c.audit({ subject: "k", prefix: "k", actor: "ann", action: "created", from: at, to: at, ...listed }),
      ),
    answer: "Page<AuditEntry>",
  },

  applyInbox: { call: (c) => c.inbox.apply(), answer: "InboxApplied" },
  listInboxErrors: {
    call: (c) => page(c.inbox.errors({ prefix: "k", ...listed })),
    answer: "Page<InboxError>",
  },
  getInboxError: { call: (c) => c.inbox.error("1"), answer: "InboxError" },
  deleteInboxError: { call: (c) => c.inbox.forget("1") },
  listDeadCommands: {
    call: (c) => page(c.commands.dead({ prefix: "k", ...listed })),
    answer: "Page<DeadCommand>",
  },
  getDeadCommand: { call: (c) => c.commands.get("1"), answer: "DeadCommand" },
  retryDeadCommand: { call: (c) => c.commands.retry("1"), answer: "RetriedCommand" },
  listQuarantine: {
    call: (c) => page(c.quarantine.list({ consumer: "ended", item: "1", key: "k", prefix: "k", ...listed })),
    answer: "Page<QuarantineEntry>",
  },
  retryQuarantine: {
    call: (c) => c.quarantine.retry({ consumer: "ended", item: "1", key: "k", prefix: "k" }, { cursor: "c" }),
    answer: "QuarantineRetried",
    body: "{ filter?: QuarantineFilter }",
  },
  deleteDeadCommand: { call: (c) => c.commands.delete("1") },
};
