import type { Sql, Tx } from "../../lib/db/connect.ts";
import type { JobFilter } from "../../lib/history/jobs/job-rows.ts";
import { searchJobs } from "../../lib/history/jobs/search-jobs.ts";
import { countSchedules, listSchedules, type ScheduleFilter } from "../../lib/history/search-schedules.ts";

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000);

/** Searches by name: common and rare values in the tables that `seedSearch` fills. */
export const scheduleSearches: Readonly<Record<string, ScheduleFilter>> = {
  all: {},
  prefix: { prefix: "c:1" },
  group: { group: "g70" },
  "huge group": { group: "huge" },
  "common tag": { tag: "common" },
  "rare tag": { tag: "rare" },
  "common tag, prefix": { tag: "common", prefix: "k:f" },
  "common target": { target: "queue/bench" },
  "rare target": { target: "queue/rare" },
  "kind of target": { target: "queue" },
  "kind of many targets": { target: "webhook" },
  "common creator": { createdBy: "often1" },
  "rare creator": { createdBy: "rare" },
  "common calendar": { calendar: "common" },
  "rare calendar": { calendar: "rare" },
  paused: { state: "paused" },
  active: { state: "active" },
  ended: { state: "ended" },
  "ended of a tag": { state: "ended", tag: "common" },
  failing: { failing: true },
  "failing of a tag": { failing: true, tag: "common" },
  next: { nextTo: inHours(1) },
  "next, far": { nextFrom: inHours(120) },
  "next of a rare target": { nextFrom: inHours(1), target: "queue/rare" },
};

export const jobSearches: Readonly<Record<string, JobFilter>> = {
  "all jobs": {},
  "succeeded jobs": { state: "succeeded" },
  "waiting jobs": { state: "waiting" },
  "retrying jobs": { state: "retrying" },
  "cancelled jobs": { state: "cancelled" },
  "jobs of a group": { group: "g70" },
  "jobs of a rare target": { target: "queue/rare" },
  "jobs of a tag, an hour": { tag: "common", from: inHours(-2), to: inHours(-1) },
};

/** The first page, or the page after a place. */
export async function scheduleSearch(tx: Tx, filter: ScheduleFilter, after?: string) {
  const { items, next } = await listSchedules(tx, { ...filter, limit: 50, after });
  return { items: items.length, next };
}

export const scheduleCount = (tx: Tx, filter: ScheduleFilter) => countSchedules(tx, filter);

export async function jobSearch(
  sql: Sql,
  filter: JobFilter,
  before?: Parameters<typeof searchJobs>[1]["before"],
) {
  const { items, next } = await searchJobs(sql, { filter, limit: 50, before });
  return { items: items.length, next };
}
