import type * as z from "zod";
import { groupPlaceText, type JobGroup, readGroupPlace } from "../../history/error-groups.ts";
import { jobGroupsDoc, jobStatesDoc } from "../document/job-group-docs.ts";
import type { Operations } from "../operations/operations.ts";
import type { Answer } from "../request/answer.ts";
import { groupsQuery, statesQuery } from "../request/job-filter.ts";
import { narrowed, refuseForeignKey } from "../request/reach.ts";
import { type Route, route } from "../request/route.ts";
import { readSearchCursor, writeSearchCursor } from "../request/search-cursor.ts";

type Asked = Omit<z.infer<typeof groupsQuery>, "limit" | "cursor">;

/** Failed jobs in groups of the same error, and the jobs of bulk actions by state. */
export function jobGroupRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/jobs:states",
      scope: "read",
      query: statesQuery,
      doc: jobStatesDoc,
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
      cost: 10,
      answer: async ({ query: { limit, cursor, ...asked }, token }) => {
        if (asked.key !== undefined) refuseForeignKey(token, asked.key);
        const within = narrowed(token, asked.prefix);
        if (within === null) return nothing;
        const given = { ...asked, ...within };
        const place = readSearchCursor(cursor, "job-groups", given, (text) => readGroupPlace(text) !== null);
        const after = place === undefined ? undefined : (readGroupPlace(place) ?? undefined);
        const { state, by, ...filter } = given;
        const { items, next, ...rest } = await operations.failures.group({ state, by, filter, limit, after });
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
