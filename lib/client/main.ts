export type { AuditEntry, AuditFilter, Origin } from "./audit.ts";
export { BatchInterrupted, type BatchOptions, type Operation, type OperationResult } from "./batch.ts";
export type { Calendar, CalendarBody, CalendarSummary, PutCalendar, Weekday } from "./calendars.ts";
export { Carillon, type CarillonOptions } from "./carillon.ts";
export type { DeadCommand, InboxApplied, InboxError, RetriedCommand } from "./commands.ts";
export type { CancelDone, HoldDone, Members, SharedHold } from "./groups.ts";
export type {
  Attempt,
  BackfillDone,
  BackfillParams,
  CancelFilter,
  CancelledMany,
  EnqueueBody,
  Job,
  JobFilter,
  JobKind,
  JobOwners,
  JobState,
  JobSummary,
  OpenJob,
  RetriedMany,
  RetryFilter,
} from "./job.ts";
export type { ManyOptions } from "./jobs.ts";
export type { DurationText, Instant, InstantText, Json } from "./json.ts";
export type { Limits, LimitsBody, VersionedLimits } from "./limits.ts";
export { CarillonInputError } from "./names.ts";
export { type ListOptions, type Page, Pages } from "./pages.ts";
export type { CatchUp, Retry } from "./policies.ts";
export {
  CarillonProblem,
  CarillonUnreachable,
  type Fault,
  isConflict,
  isDenied,
  isInvalid,
  isNotFound,
  isPreconditionFailed,
  isRateLimited,
  type ProblemDocument,
} from "./problem.ts";
export type { QuarantineEntry, QuarantineFilter, QuarantineRetried } from "./quarantine.ts";
export type {
  Edited,
  Hold,
  KeyedScheduleBody,
  PauseParams,
  ResumeParams,
  Schedule,
  ScheduleBody,
  ScheduleFilter,
  SchedulePatch,
  ScheduleState,
  ScheduleSummary,
  Spec,
} from "./schedule.ts";
export type { Forecast, Stats } from "./stats.ts";
export type {
  EventTarget,
  HandlerTarget,
  LambdaTarget,
  QueueTarget,
  ShownTarget,
  Target,
  TargetKind,
  WebhookTarget,
} from "./target.ts";
export type {
  AgendaCounts,
  AgendaItem,
  AgendaPage,
  AgendaWindow,
  Change,
  Explanation,
  LastRun,
  LastRuns,
  LastRunsBody,
  NextOccurrences,
  Occurrence,
  Outcome,
  Preview,
  PreviewBody,
  Strip,
  StripItem,
  StripParams,
  Version,
} from "./time.ts";
export type { NewToken, Scope, TokenBody, TokenSummary } from "./tokens.ts";
export type {
  Answered,
  CallOptions,
  EditOptions,
  PutOptions,
  Request,
  Retrying,
  WriteOptions,
} from "./transport.ts";
export type { ZoneMove, ZoneRelease, ZoneUpdate } from "./zone-data.ts";
