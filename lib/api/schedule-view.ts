import type { ScheduleRead } from "../plan/read-schedule.ts";
import type { Hold } from "../schedule/holds.ts";
import { shownTarget } from "../schedule/target-credentials.ts";
import { jobListView } from "./job-view.ts";

/** A schedule as callers read it alone; `lastJob` stands there only where it was asked for. */
export function scheduleView(schedule: ScheduleRead) {
  const { lastJob } = schedule;
  return {
    ...scheduleListView(schedule),
    payload: schedule.body.payload,
    ...(lastJob === undefined ? {} : { lastJob: lastJob === null ? null : jobListView(lastJob) }),
  };
}

/** A schedule as it stands in a list: without its payload. */
export function scheduleListView({ body, ...schedule }: ScheduleRead) {
  return {
    id: schedule.id,
    key: schedule.key,
    state: schedule.state,
    version: schedule.version,
    when: body.when,
    timezone: body.timezone,
    cadence: schedule.cadence,
    cadenceText: schedule.cadenceText,
    nextAt: schedule.nextAt,
    target: shownTarget(body.target),
    group: body.group,
    serial: body.serial,
    priority: body.priority,
    tags: body.tags,
    description: body.description,
    startsAt: body.startsAt,
    endsAt: body.endsAt,
    maxFires: body.maxFires,
    calendar: body.calendar,
    catchUp: body.catchUp,
    deadline: body.deadline,
    overlap: body.overlap,
    spread: body.spread,
    slot: body.slot,
    dst: body.dst,
    retry: body.retry,
    timeout: body.timeout,
    holdAfter: body.holdAfter,
    delivery: body.delivery,
    deleteOnEnd: body.deleteOnEnd,
    holds: schedule.holds.map(holdView),
    checks: schedule.checks,
    warnings: schedule.warnings,
    createdAt: schedule.createdAt,
    createdBy: schedule.createdBy,
    updatedAt: schedule.updatedAt,
    updatedBy: schedule.updatedBy,
  };
}

/** A hold that was set on a group or a tag says on which. */
export function holdView({ scope, name, owner, reason, until, since }: Hold) {
  return { owner, reason, until, since, ...(scope === "schedule" ? {} : { [scope]: name }) };
}
