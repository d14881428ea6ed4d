export type {
  AgendaCounts,
  AgendaFilter,
  AgendaItem,
  AgendaOutcome,
  AgendaPage,
  AgendaSchedules,
  AgendaWindow,
  LastRun,
  LastRuns,
  LastRunsBody,
  Strip,
  StripItem,
  StripParams,
} from "./agenda.ts";
export type { AuditEntry, AuditFilter, Origin } from "./audit.ts";
export { BatchInterrupted, type BatchOptions, type Operation, type OperationResult } from "./batch.ts";
export type {
  Calendar,
  CalendarBody,
  CalendarPreview,
  CalendarSummary,
  PutCalendar,
  Weekday,
} from "./calendars.ts";
export { Carillon, type CarillonOptions } from "./carillon.ts";
export type { DeadCommand, InboxApplied, InboxError, RetriedCommand } from "./commands.ts";
export type { Contribution, Forecast, ForecastParams } from "./forecast.ts";
export type { CancelDone, GroupFilter, HoldDone, ListedGroup, Members, SharedHold } from "./groups.ts";
export type { BoardHold, HoldFilter } from "./holds.ts";
export type {
  Attempt,
  BackfillDone,
  BackfillParams,
  CancelFilter,
  CancelledMany,
  EnqueueBody,
  GroupedBy,
  Job,
  JobFilter,
  JobGroup,
  JobGroupFilter,
  JobGroups,
  JobKind,
  JobOwners,
  JobState,
  JobSummary,
  JobsByState,
  JobsDryRun,
  ParcelTimes,
  RetriedMany,
  RetryFilter,
} from "./job.ts";
export type { ManyOptions } from "./jobs.ts";
export type { DurationText, Instant, InstantText, Json } from "./json.ts";
export type { Limits, LimitsBody, VersionedLimits } from "./limits.ts";
export type {
  ArrivalRead,
  ArrivalStep,
  ArrivalStepAnswers,
  BroughtPart,
  Move,
  MovedPart,
  MoveRead,
  MoveStep,
  MoveStepAnswers,
  PartName,
  StuckSchedule,
} from "./moves.ts";
export type { CatchUp, Retry } from "./policies.ts";
export type { QuarantineEntry, QuarantineFilter, QuarantineRetried } from "./quarantine.ts";
export { CarillonInputError } from "./request/names.ts";
export { type ListOptions, type Page, Pages } from "./request/pages.ts";
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
} from "./request/problem.ts";
export type {
  Answered,
  CallOptions,
  EditOptions,
  PutOptions,
  Request,
  Retrying,
  WriteOptions,
} from "./request/transport.ts";
export type {
  BulkAction,
  BulkDone,
  BulkPreview,
  Edited,
  Hold,
  KeyedScheduleBody,
  MovedTo,
  PauseParams,
  ResumeParams,
  Schedule,
  ScheduleBody,
  ScheduleCount,
  ScheduleEntry,
  ScheduleFilter,
  SchedulePatch,
  ScheduleState,
  ScheduleSummary,
  Selection,
  Spec,
} from "./schedule.ts";
export type { BulkOptions } from "./schedules.ts";
export type {
  Outage,
  OutageFilter,
  Problem,
  Problems,
  SeriesFilter,
  SeriesHead,
  SeriesStep,
  SeriesStepLength,
  Stats,
} from "./stats.ts";
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
  Change,
  Explanation,
  NextOccurrences,
  Occurrence,
  Outcome,
  Preview,
  PreviewBody,
  RestorePreview,
  Version,
} from "./time.ts";
export type {
  CredentialKey,
  NewToken,
  OwnToken,
  Quotas,
  QuotaUse,
  Scope,
  SealedAgain,
  TokenBody,
  TokenSummary,
} from "./tokens.ts";
export type { ZoneMove, ZoneRelease, ZoneUpdate } from "./zone-data.ts";
