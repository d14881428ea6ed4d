import * as z from "zod";
import { readKey } from "../../command/schedule-input.ts";
import { deadPlaceText, readDeadPlace } from "../../history/dead-jobs.ts";
import { jobId, parseJobId } from "../../job/job-id.ts";
import { placeText, readPlace } from "../../job/job-place.ts";
import type { JobRead } from "../../job/read-job.ts";
import { isCancelPlace } from "../../job-control/cancel-many.ts";
import type { DryRun } from "../../job-control/dry-run.ts";
import { isRetryPlace } from "../../job-control/retry-many.ts";
import { Refusal } from "../../refusal.ts";
import type { Token } from "../../token/token.ts";
import { jobDocs } from "../document/job-docs.ts";
import type { Operations } from "../operations/operations.ts";
import type { Answer } from "../request/answer.ts";
import { type Counted, dryRunCost } from "../request/cost.ts";
import { type ListName, readCursor, writeCursor } from "../request/cursor.ts";
import {
  bulkMax,
  cancelManyShape,
  entryFilter,
  historyFilter,
  jobRequestShape,
  jobsQuery,
  retryFilter,
  retryManyShape,
} from "../request/job-filter.ts";
import { pageQuery } from "../request/query.ts";
import { narrowed, narrowedOrRefused, refuseForeignKey } from "../request/reach.ts";
import { noQuery, type Route, readShape, route, workRoute } from "../request/route.ts";
import { readSearchCursor, writeSearchCursor } from "../request/search-cursor.ts";
import { jobListView, jobView } from "../views/job-view.ts";

const goOnQuery = z.strictObject({ cursor: pageQuery.cursor });

export function jobRoutes(operations: Operations): Route[] {
  return [...readRoutes(operations), ...controlRoutes(operations), ...bulkRoutes(operations)];
}

function readRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/schedules/{key}/jobs",
      scope: "read",
      query: z.strictObject(pageQuery),
      doc: jobDocs.ofSchedule,
      answer: async ({ parameter, query: { cursor, limit } }) => {
        const key = readKey(parameter("key"));
        const { items, next } = await operations.jobsOfSchedule({ key, limit, before: readJobPlace(cursor) });
        return pageOf(items.map(jobListView), "jobs", next === undefined ? undefined : placeText(next));
      },
    }),
    route({
      method: "GET",
      path: "/v1/jobs",
      scope: "read",
      query: jobsQuery,
      doc: jobDocs.search,
      answer: async ({ query: { limit, cursor, ...asked }, token }) => {
        if (asked.key !== undefined) refuseForeignKey(token, asked.key);
        const within = narrowed(token, asked.prefix);
        if (within === null) return { status: 200, body: { items: [] } };
        return searchPage(operations, { ...asked, ...within }, asked, { limit, cursor });
      },
    }),
    route({
      method: "GET",
      path: "/v1/jobs/{id}",
      scope: "read",
      query: noQuery,
      doc: jobDocs.get,
      answer: async ({ parameter, token }) => {
        const id = await reachedId(operations, token, parameter("id"));
        const job = await operations.readJob(id);
        if (job === null) throw missing(id);
        return { status: 200, body: jobView(job) };
      },
    }),
  ];
}

type Asked = Omit<z.infer<typeof jobsQuery>, "limit" | "cursor">;

/**
 * Dead jobs have their own list, and a `key` searches the schedule's history; any other filter
 * searches all jobs.
 */
async function searchPage(
  operations: Operations,
  filter: Asked,
  asked: Asked,
  { limit, cursor }: { limit: number; cursor: string | undefined },
): Promise<Answer> {
  const placed = (isPlace: (text: string) => boolean) =>
    readSearchCursor(cursor, "job-search", filter, isPlace);
  const answer = (items: JobRead[], next: string | undefined): Answer => {
    const more = next === undefined ? {} : { cursor: writeSearchCursor("job-search", filter, next) };
    return { status: 200, body: { items: items.map(jobListView), ...more } };
  };
  const ofEntries = entryFilter(filter);
  if (ofEntries !== null) {
    const place = placed((text) => parseJobId(text) !== null);
    const before = place === undefined ? undefined : (parseJobId(place) ?? undefined);
    const { items, next } = await operations.failures.ofEntries({ filter: ofEntries, limit, before });
    return answer(items, next === undefined ? undefined : jobId(next));
  }
  const { key, state, entry: _, ...others } = filter;
  if (state === "dead") {
    if (filter.upcoming === true) return answer([], undefined);
    const place = placed((text) => readDeadPlace(text) !== null);
    const after = place === undefined ? undefined : (readDeadPlace(place) ?? undefined);
    const { items, next } = await operations.deadJobs({ filter, order: "newest", after, limit });
    return answer(items, next === undefined ? undefined : deadPlaceText(next));
  }
  const place = placed((text) => parseJobId(text) !== null);
  const before = place === undefined ? undefined : (parseJobId(place) ?? undefined);
  if (key !== undefined) {
    const { items, next } = await operations.searchKey({ filter: historyFilter(asked), limit, before });
    return answer(items, next === undefined ? undefined : jobId(next));
  }
  const { items, next } = await operations.searchJobs({ filter: { ...others, state }, limit, before });
  return answer(items, next === undefined ? undefined : jobId(next));
}

function controlRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/jobs/{id}/cancel",
      scope: "write",
      query: noQuery,
      doc: jobDocs.cancel,
      answer: async ({ parameter, optionalBody, token, caller }) => {
        const { reason } = readShape(jobRequestShape, optionalBody(), "body");
        const params = { id: await reachedId(operations, token, parameter("id")), reason, caller };
        const { job, asked } = await operations.cancelJob(params);
        return { status: asked ? 202 : 200, body: jobView(job) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/jobs/{id}/retry",
      scope: "write",
      query: noQuery,
      doc: jobDocs.retry,
      answer: async ({ parameter, optionalBody, token, caller }) => {
        const { reason } = readShape(jobRequestShape, optionalBody(), "body");
        const params = { id: await reachedId(operations, token, parameter("id")), reason, caller };
        return { status: 202, body: jobView(await operations.retryJob(params)) };
      },
    }),
  ];
}

const bulkCost: Counted<{ dryRun: boolean; limit: number }> = {
  per: "each job that matches",
  most: bulkMax,
  or: `${dryRunCost} with \`dryRun\``,
  isReserve: true,
  of: ({ dryRun, limit }) => (dryRun ? dryRunCost : limit),
};

/** Each call handles up to `limit` jobs; the same call with the answer's cursor continues. */
function bulkRoutes(operations: Operations): Route[] {
  return [
    workRoute({
      method: "POST",
      path: "/v1/jobs:retry",
      scope: "write",
      query: goOnQuery,
      doc: jobDocs.retryMany,
      read: ({ body, query: { cursor }, token, caller }) => {
        const { filter: asked, dryRun, ...params } = readShape(retryManyShape, body(), "body");
        if (asked.key !== undefined) refuseForeignKey(token, asked.key);
        const filter = retryFilter(asked);
        if (filter.state === "dead") filter.prefix = narrowedOrRefused(token, filter.prefix);
        const isPlace = (text: string) => isRetryPlace(filter.state, text);
        const after = dryRun ? undefined : readSearchCursor(cursor, "retries", filter, isPlace);
        return { dryRun, ...params, filter, after, caller };
      },
      kind: "bulk",
      cost: bulkCost,
      answer: async ({ dryRun, ...params }) => {
        const { filter } = params;
        if (dryRun) return dryRunAnswer(await operations.failures.retryDryRun(filter));
        const { next, ...counts } = await operations.retryMany(params);
        return {
          status: 202,
          body: { ...counts, ...goOn("retries", filter, next) },
          units: counts.done + counts.leftOut + counts.failed,
        };
      },
    }),
    workRoute({
      method: "POST",
      path: "/v1/jobs:cancel",
      scope: "write",
      query: goOnQuery,
      doc: jobDocs.cancelMany,
      read: ({ body, query: { cursor }, token, caller }) => {
        const { filter: asked, dryRun, ...params } = readShape(cancelManyShape, body(), "body");
        if (asked.key !== undefined) refuseForeignKey(token, asked.key);
        const filter = { ...asked, prefix: narrowedOrRefused(token, asked.prefix) };
        const after = dryRun ? undefined : readSearchCursor(cursor, "cancels", filter, isCancelPlace);
        return { dryRun, ...params, filter, after, caller };
      },
      kind: "bulk",
      cost: bulkCost,
      answer: async ({ dryRun, ...params }) => {
        const { filter } = params;
        if (dryRun) return dryRunAnswer(await operations.failures.cancelDryRun(filter));
        const { next, ...counts } = await operations.cancelMany(params);
        return {
          status: 202,
          body: { ...counts, ...goOn("cancels", filter, next) },
          units: counts.done + counts.failed,
        };
      },
    }),
  ];
}

function dryRunAnswer({ asOf, count, more, samples }: DryRun): Answer {
  const body = { dryRun: true, asOf: asOf.toISOString(), count, more, samples: samples.map(jobListView) };
  return { status: 200, body };
}

function goOn(list: "retries" | "cancels", filter: object, next: string | undefined) {
  return next === undefined ? {} : { cursor: writeSearchCursor(list, filter, next) };
}

/** A job whose key the token does not reach is treated as missing. */
async function reachedId(operations: Operations, { prefix }: Token, id: string): Promise<string> {
  if (prefix !== null && !(await operations.isJobUnder(id, prefix))) throw missing(id);
  return id;
}

function missing(id: string): Refusal {
  return new Refusal("missing", `There is no job ${JSON.stringify(id.slice(0, 200))}.`);
}

function readJobPlace(cursor: string | undefined) {
  if (cursor === undefined) return undefined;
  return readPlace(readCursor(cursor, "jobs", (text) => readPlace(text) !== null)) ?? undefined;
}

function pageOf(items: unknown[], list: ListName, next: string | undefined): Answer {
  return { status: 200, body: { items, ...cursorOf(list, next) } };
}

function cursorOf(list: ListName, next: string | undefined) {
  return next === undefined ? {} : { cursor: writeCursor(list, next) };
}
