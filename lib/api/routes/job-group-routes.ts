import type * as z from "zod";
import { groupPlaceText, type JobGroup, readGroupPlace } from "../../history/error-groups.ts";
import type { Count } from "../../history/search-page.ts";
import { jobCountDoc, jobGroupsDoc, jobStatesDoc } from "../document/job-group-docs.ts";
import type { Operations } from "../operations/operations.ts";
import type { Answer } from "../request/answer.ts";
import {
  entryFilter,
  groupsQuery,
  historyFilter,
  jobCountQuery,
  statesQuery,
} from "../request/job-filter.ts";
import { narrowed, refuseForeignKey } from "../request/reach.ts";
import { type Route, route } from "../request/route.ts";
import { readSearchCursor, writeSearchCursor } from "../request/search-cursor.ts";

type Asked = Omit<z.infer<typeof groupsQuery>, "limit" | "cursor">;

/** Counts of jobs, failed jobs in groups of the same error, and the jobs of bulk actions by state. */
export function jobGroupRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/jobs:count",
      scope: "read",
      query: jobCountQuery,
      doc: jobCountDoc,
      kind: "count",
      cost: 5,
      answer: async ({ query: asked, token }) => {
        if (asked.key !== undefined) refuseForeignKey(token, asked.key);
        const within = narrowed(token, asked.prefix);
        const { count, more } =
          within === null ? noJobs : await countOf(operations, { ...asked, ...within }, asked);
        return { status: 200, body: { count, more } };
      },
    }),
    route({
      method: "GET",
      path: "/v1/jobs:states",
      scope: "read",
      query: statesQuery,
      doc: jobStatesDoc,
      kind: "count",
      cost: 5,
      answer: async ({ query: { entry }, token }) => ({
        status: 200,
        body: { ...(await operations.failures.countEntries({ entry, prefix: token.prefix ?? undefined })) },
      }),
    }),
    route({
      method: "GET",
      path: "/v1/jobs:groups",
      scope: "read",
      query: groupsQuery,
      doc: jobGroupsDoc,
      kind: "count",
      cost: 10,
      answer: async ({ query: { limit, cursor, ...asked }, token }) => {
        if (asked.key !== undefined) refuseForeignKey(token, asked.key);
        const within = narrowed(token, asked.prefix);
        if (within === null) return nothing;
        const given = { ...asked, ...within };
        const place = readSearchCursor(cursor, "job-groups", given, (text) => readGroupPlace(text) !== null);
        const after = place === undefined ? undefined : (readGroupPlace(place) ?? undefined);
        const { state, by, ...filter } = given;
        const found = await operations.failures.group({ state, by, filter, limit, after });
        const { items, next, groups: _, ...rest } = found;
        const more =
          next === undefined ? {} : { cursor: writeSearchCursor("job-groups", given, groupPlaceText(next)) };
        return {
          status: 200,
          body: { items: items.map((group) => groupView(group, asked, rest.more)), ...more, ...rest },
        };
      },
    }),
  ];
}

const noJobs: Count = { count: 0, more: false };

type Sought = z.infer<typeof jobCountQuery>;

/** Chooses as `GET /v1/jobs` does: jobs of entries, dead jobs, the history of a key, or all jobs. */
async function countOf(operations: Operations, filter: Sought, asked: Sought): Promise<Count> {
  const ofEntries = entryFilter(filter);
  if (ofEntries !== null) {
    const { state, ...entries } = ofEntries;
    const { count, more, states } = await operations.failures.countEntries(entries);
    return { count: state === undefined ? count : states[state], more };
  }
  const { key, state, entry: _, ...others } = filter;
  if (state === "dead") return filter.upcoming === true ? noJobs : operations.jobCounts.dead(filter);
  if (key !== undefined) return operations.jobCounts.ofKey(historyFilter(asked));
  return operations.jobCounts.all({ ...others, state });
}

const nothing: Answer = { status: 200, body: { items: [], looked: 0, more: false, lookedFrom: null } };

function groupView(group: JobGroup, asked: Asked, more: boolean) {
  const { by } = asked;
  const hasTarget = by === "target,error" || by === "target";
  const hasError = by === "target,error" || by === "error";
  const { errorGroups, target, errorClass, error, reason, count, firstAt, lastAt, schedules, sample } = group;
  return {
    errorGroup: by === "target,error" ? (errorGroups?.[0] ?? null) : null,
    target: hasTarget ? target : null,
    errorClass: hasError ? errorClass : null,
    error: hasError ? error : null,
    reason: by === "reason" ? reason : null,
    count,
    more,
    firstAt,
    lastAt,
    schedules,
    sample,
    filter: filterOf(group, asked),
  };
}

/** The filter that selects the jobs of a group, within the filter of the request. */
function filterOf({ errorGroups, target, reason }: JobGroup, { by, errorGroup: named, ...asked }: Asked) {
  const within = { ...asked, ...(named === undefined ? {} : { errorGroup: named.join(",") }) };
  switch (by) {
    case "target":
      return target === null ? null : { ...within, target };
    case "reason":
      return reason === null ? null : { ...within, reason };
    case "error":
    case "target,error":
      return errorGroups === null ? null : { ...within, errorGroup: errorGroups.join(",") };
  }
}
