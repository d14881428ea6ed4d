import type { AuditPlace } from "../../audit/audit-place.ts";
import type { EntrySearch } from "../../audit/find-entries.ts";
import { type AuditEntry, readAudit } from "../../audit/read-audit.ts";
import { type CancelLabelParams, cancelLabel, type LabelCancelled } from "../../batch/cancel-label.ts";
import { type Enqueued, type EnqueueParams, enqueueJob } from "../../batch/enqueue-job.ts";
import {
  pauseLabel,
  resumeLabel,
  type SharedHoldDone,
  type SharedHoldParams,
  type SharedPauseParams,
} from "../../batch/label-holds.ts";
import type { ApplyOptions } from "../../batch/operation.ts";
import { type AcceptanceDeps, acceptanceOf } from "../../command/acceptance.ts";
import { applyBatch, type BatchResult } from "../../command/apply-batch.ts";
import type { Command } from "../../command/command-shape.ts";
import { refuseUnfitFire } from "../../command/handler-payload.ts";
import type { Sql } from "../../db/connect.ts";
import type { JobParams } from "../../edit/cancel-jobs.ts";
import type { EditDone, EditParams } from "../../edit/edit-transaction.ts";
import { type RestoreParams, restoreVersion, tryRestore } from "../../edit/restore.ts";
import { createSchedule, deleteSchedule, patchSchedule, putSchedule } from "../../edit/schedule-edits.ts";
import { type PauseParams, pauseSchedule, resumeSchedule } from "../../edit/schedule-holds.ts";
import { type Explanation, explain } from "../../explain/explain.ts";
import { type DeadPlace, type DeadSearch, listDead } from "../../history/dead-jobs.ts";
import { type LabelRead, readLabel } from "../../history/groups/read-label.ts";
import { jobsOfKey } from "../../history/job-history.ts";
import { type JobSearch, searchJobs } from "../../history/jobs/search-jobs.ts";
import { type NextOccurrences, nextOccurrences } from "../../history/next-occurrences.ts";
import { isJobUnder, readAnyJob } from "../../history/planned-job.ts";
import { type Preview, type PreviewParams, previewSchedule } from "../../history/preview.ts";
import { readKnownSchedule, type ScheduleRead } from "../../history/read-schedule.ts";
import { searchKey } from "../../history/search-histories.ts";
import type { Count } from "../../history/search-page.ts";
import {
  countWithMovedOut,
  listSchedules,
  type ScheduleFilter,
  type ScheduleSearch,
} from "../../history/search-schedules.ts";
import { type VersionRead, versionsOf } from "../../history/versions.ts";
import type { JobKey } from "../../job/job-id.ts";
import type { JobPlace } from "../../job/job-place.ts";
import type { JobRead } from "../../job/read-job.ts";
import { cancelAnyJob, retryAnyJob } from "../../job-control/any-job.ts";
import { type BackfillDone, type BackfillParams, backfillSchedule } from "../../job-control/backfill.ts";
import { type CancelledMany, type CancelManyParams, cancelMany } from "../../job-control/cancel-many.ts";
import { type FireNowParams, fireNow } from "../../job-control/fire-now.ts";
import { type RetriedMany, type RetryManyParams, retryMany } from "../../job-control/retry-many.ts";
import {
  clearLimits,
  type Limits,
  type LimitsParams,
  type LimitsRead,
  listLimits,
  readLimits,
  setLimits,
} from "../../limit/limits.ts";
import type { Log } from "../../log/log.ts";
import type { ParcelQueue } from "../../parcel/parcel-queue.ts";
import {
  type EntryPlace,
  listEntries,
  type QuarantineEntry,
  type QuarantineSearch,
  retryEntries,
} from "../../quarantine/entries.ts";
import {
  type CalendarDone,
  type CalendarParams,
  type CalendarRead,
  listCalendars,
  putCalendar,
  readCalendarWithCounts,
  removeCalendar,
} from "../../rules/calendar-edits.ts";
import {
  readZoneData,
  type ZoneDataRead,
  type ZoneMoveRead,
  zoneMovesOf,
} from "../../rules/zone-data-moves.ts";
import type { CalendarBody, CalendarHead } from "../../schedule/calendars.ts";
import type { WithMovedOut } from "../../schedule/moved-out.ts";
import type { Caller } from "../../schedule/shape/caller.ts";
import type { Besides } from "../../schedule/shape/faults-together.ts";
import type { ScheduleBody } from "../../schedule/shape/schedule-body.ts";
import type { Label } from "../../schedule/shared-holds.ts";
import type { VaultAccess } from "../../sealing/vault-request.ts";
import type { DeploymentRates } from "../../token/token-rates.ts";
import { type BoardOperations, boardOperations } from "./board-operations.ts";
import { type BulkOperations, bulkOperations } from "./bulk-operations.ts";
import { type CommandOperations, commandOperations } from "./command-operations.ts";
import { type CredentialOperations, credentialOperations } from "./credential-operations.ts";
import { type FailureOperations, failureOperations } from "./failure-operations.ts";
import { type InboxOperations, inboxOperations } from "./inbox-operations.ts";
import { type JobCountOperations, jobCountOperations } from "./job-count-operations.ts";
import { type MoveOperations, moveOperations } from "./move-operations.ts";
import { type TokenOperations, tokenOperations } from "./token-operations.ts";

/** One page of a list, and in `next` where the next page starts; the last page has none. */
export interface Page<Item, Place> {
  items: Item[];
  next?: Place;
}

/**
 * The operations behind the routes. Each throws a Refusal for a request that cannot be carried out,
 * and then has changed nothing.
 */
export interface Operations extends BoardOperations {
  /** The other refusals of a body of which a part is not understood. */
  besides: Besides;
  putSchedule(params: EditParams & { body: ScheduleBody; ifNoneMatch?: boolean }): Promise<EditDone>;
  createSchedule(params: { key?: string; body: ScheduleBody; caller: Caller }): Promise<EditDone>;
  patchSchedule(params: EditParams & { patch: unknown }): Promise<EditDone>;
  deleteSchedule(params: EditParams): Promise<void>;
  /**
   * Applies the commands in one transaction if that succeeds, and otherwise in parts. The results
   * are in the order of the commands.
   */
  applyBatch(
    commands: readonly Command[],
    options: Pick<ApplyOptions, "allOrNothing">,
  ): Promise<BatchResult[]>;
  pauseSchedule(params: PauseParams): Promise<EditDone>;
  resumeSchedule(params: EditParams & { owner?: string | undefined }): Promise<EditDone>;
  /** Throws a Refusal where there is none. */
  readSchedule(key: string): Promise<ScheduleRead>;
  /** A page may be short and still have a `next`, because it scans a limited number of schedules. */
  listSchedules(search: ScheduleSearch): Promise<Page<ScheduleRead, string>>;
  countSchedules(filter: ScheduleFilter): Promise<Count & WithMovedOut>;
  nextOccurrences(params: { key: string; n: number; from?: number | undefined }): Promise<NextOccurrences>;
  previewSchedule(params: PreviewParams): Promise<Preview>;
  explain(params: { key: string; at: Date }): Promise<Explanation>;
  /** Newest first; `before` is the last version of the page before. */
  versionsOfSchedule(params: {
    key: string;
    limit: number;
    before?: number | undefined;
  }): Promise<Page<VersionRead, number>>;
  restoreVersion(params: RestoreParams): Promise<EditDone>;
  /** Changes nothing. */
  tryRestore(params: RestoreParams): ReturnType<typeof tryRestore>;
  bulk: BulkOperations;
  fireNow(params: FireNowParams): Promise<JobRead>;
  backfillSchedule(params: BackfillParams): Promise<BackfillDone>;
  /** Newest first; `before` is the position at which the page before ended. */
  jobsOfSchedule(params: {
    key: string;
    limit: number;
    before?: JobPlace | undefined;
  }): Promise<Page<JobRead, JobPlace>>;
  enqueueJob(params: EnqueueParams): Promise<Enqueued>;
  /** Also finds a planned job that no tick has made yet. */
  readJob(id: string): Promise<JobRead | null>;
  isJobUnder(id: string, prefix: string): Promise<boolean>;
  /** A page may be short and still have a `next`, because it scans a limited number of jobs. */
  deadJobs(search: DeadSearch): Promise<Page<JobRead, DeadPlace>>;
  searchKey(search: Parameters<typeof searchKey>[1]): Promise<Page<JobRead, JobKey>>;
  searchJobs(search: JobSearch): Promise<Page<JobRead, JobKey>>;
  /** `asked`: the job is running, and its worker is notified to stop. */
  cancelJob(params: JobParams): Promise<{ job: JobRead; asked: boolean }>;
  retryJob(params: JobParams): Promise<JobRead>;
  failures: FailureOperations;
  jobCounts: JobCountOperations;
  cancelMany(params: CancelManyParams): Promise<CancelledMany>;
  retryMany(params: RetryManyParams): Promise<RetriedMany>;
  putCalendar(params: CalendarParams & { body: CalendarBody; ifNoneMatch?: boolean }): Promise<CalendarDone>;
  readCalendar(name: string, prefix?: string): Promise<CalendarRead | null>;
  /** Ordered by name; `after` is the last name of the page before. */
  listCalendars(params: { limit: number; after?: string | undefined }): Promise<Page<CalendarHead, string>>;
  removeCalendar(params: CalendarParams): Promise<void>;
  pauseLabel(params: SharedPauseParams): Promise<SharedHoldDone>;
  resumeLabel(params: SharedHoldParams): Promise<SharedHoldDone>;
  readLabel(
    label: Label,
    page: { limit: number; after?: string | undefined; prefix?: string | undefined },
  ): Promise<LabelRead | null>;
  cancelLabel(params: CancelLabelParams): Promise<LabelCancelled>;
  setLimits(params: LimitsParams & { limits: Limits; ifNoneMatch?: boolean }): Promise<LimitsRead>;
  clearLimits(params: LimitsParams): Promise<void>;
  readLimits(target: string): Promise<LimitsRead | null>;
  /** Ordered by target name; `after` is the last name of the page before. */
  listLimits(params: { limit: number; after?: string | undefined }): Promise<Page<LimitsRead, string>>;
  readZoneData(): Promise<ZoneDataRead>;
  /** Newest first; `before` is the last move of the page before. Null for an unknown release. */
  zoneMoves(params: {
    version: string;
    limit: number;
    before?: string | undefined;
  }): Promise<Page<ZoneMoveRead, string> | null>;
  tokens: TokenOperations;
  credentials: CredentialOperations;
  moves: MoveOperations;
  /** Newest first. */
  readAudit(search: EntrySearch): Promise<Page<AuditEntry, AuditPlace>>;
  inbox: InboxOperations;
  commands: CommandOperations;
  /** A page may be short of its limit and still have a `next`. */
  listQuarantine(search: QuarantineSearch): Promise<Page<QuarantineEntry, EntryPlace>>;
  retryQuarantine(search: QuarantineSearch): Promise<{ done: number; next?: EntryPlace }>;
  /** Throws where the database does not answer. */
  health(): Promise<void>;
}

export interface OperationDeps extends AcceptanceDeps {
  sql: Sql;
  queue: ParcelQueue;
  log: Log;
  /** Keeps the keys of credentials. Null or left out: the deployment sends no webhooks. */
  vault?: VaultAccess | null;
  /** Default: no limit. */
  rates?: DeploymentRates;
}

export function makeOperations(deps: OperationDeps): Operations {
  const { sql, handlers } = deps;
  const accept = acceptanceOf(deps);
  return {
    ...boardOperations(sql),
    besides: accept.besides,
    putSchedule: async (params) => {
      accept.body(params.body, params.key);
      return putSchedule(deps, params);
    },
    createSchedule: async (params) => {
      accept.body(params.body, params.key ?? "");
      return createSchedule(deps, params);
    },
    patchSchedule: async (params) => {
      accept.patch(params.patch);
      return patchSchedule(deps, params, accept.patched);
    },
    deleteSchedule: (params) => deleteSchedule(deps, params),
    applyBatch: (commands, options) => applyBatch({ ...deps, acceptance: accept }, commands, options),
    pauseSchedule: (params) => pauseSchedule(deps, params),
    resumeSchedule: (params) => resumeSchedule(deps, params),
    fireNow: async (params) => {
      await refuseUnfitFire(sql, handlers, params);
      return fireNow(deps, params);
    },
    backfillSchedule: (params) => backfillSchedule(deps, params),
    readSchedule: (key) => readKnownSchedule(sql, key),
    listSchedules: (search) => listSchedules(sql, search),
    countSchedules: (filter) => countWithMovedOut(sql, filter),
    nextOccurrences: (params) => nextOccurrences(sql, params),
    previewSchedule: async (params) => {
      if (params.targeted) accept.body(params.body, params.key ?? "");
      return previewSchedule(sql, params);
    },
    explain: (params) => explain(sql, params),
    versionsOfSchedule: (params) => versionsOf(sql, params),
    restoreVersion: (params) => restoreVersion(deps, params, accept.body),
    tryRestore: (params) => tryRestore(deps, params, accept.body),
    bulk: bulkOperations(deps, accept),
    jobsOfSchedule: (params) => jobsOfKey(sql, params),
    enqueueJob: async (params) => {
      accept.body(params.body, params.key);
      return enqueueJob(deps, params);
    },
    readJob: (id) => readAnyJob(sql, id),
    isJobUnder: (id, prefix) => isJobUnder(sql, id, prefix),
    deadJobs: (search) => listDead(sql, search),
    searchKey: (search) => searchKey(sql, search),
    searchJobs: (search) => searchJobs(sql, search),
    cancelJob: (params) => cancelAnyJob(deps, params),
    retryJob: (params) => retryAnyJob(deps, params),
    failures: failureOperations(sql),
    jobCounts: jobCountOperations(sql),
    cancelMany: (params) => cancelMany(deps, params),
    retryMany: (params) => retryMany(deps, params),
    putCalendar: (params) => putCalendar(deps, params),
    readCalendar: (...asked) => readCalendarWithCounts(sql, ...asked),
    listCalendars: (params) => listCalendars(sql, params),
    removeCalendar: (params) => removeCalendar(deps, params),
    pauseLabel: (params) => pauseLabel(deps, params),
    resumeLabel: (params) => resumeLabel(deps, params),
    readLabel: (label, page) => readLabel(sql, label, page),
    cancelLabel: (params) => cancelLabel(deps, params),
    setLimits: (params) => setLimits(deps, params),
    clearLimits: (params) => clearLimits(deps, params),
    readLimits: (target) => readLimits(sql, target),
    listLimits: (params) => listLimits(sql, params),
    readZoneData: () => readZoneData(sql),
    zoneMoves: ({ version, ...page }) => zoneMovesOf(sql, version, page),
    tokens: tokenOperations(sql, deps.rates ?? { ofToken: null, ofTeam: () => null }),
    credentials: credentialOperations(sql, deps.vault ?? null),
    moves: moveOperations({ ...deps, accept }),
    readAudit: (search) => readAudit(sql, search),
    inbox: inboxOperations({ ...deps, acceptance: accept }),
    commands: commandOperations({ ...deps, acceptance: accept }),
    listQuarantine: (search) => listEntries(sql, search),
    retryQuarantine: (search) => retryEntries(sql, search),
    health: async () => {
      await sql`select carillon.clock()`;
    },
  };
}
