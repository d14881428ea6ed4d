import { v7 as uuidv7 } from "uuid";
import {
  pauseShape,
  readKey,
  readKeyedScheduleBody,
  readScheduleBody,
  readSchedulePatch,
  resumeShape,
} from "../../command/schedule-input.ts";
import { isSearchPlace } from "../../history/search-schedules.ts";
import { scheduleDocs } from "../document/schedule-docs.ts";
import type { Operations } from "../operations/operations.ts";
import { etagOf, readIfMatch, readIfNoneMatch } from "../request/etag.ts";
import { narrowed, refuseForeignKey } from "../request/reach.ts";
import { noQuery, type Route, readShape, route } from "../request/route.ts";
import { countQuery, listQuery } from "../request/schedule-query.ts";
import { readSearchCursor, writeSearchCursor } from "../request/search-cursor.ts";
import { edited } from "../views/edited-answer.ts";
import { scheduleListView, scheduleView } from "../views/schedule-view.ts";
import { ownerFor, resumedOwnerFor } from "./hold-owner.ts";

export function scheduleRoutes(operations: Operations): Route[] {
  return [...editRoutes(operations), ...holdRoutes(operations), ...readRoutes(operations)];
}

function editRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/schedules",
      scope: "write",
      query: noQuery,
      doc: scheduleDocs.create,
      answer: async ({ body, token, caller }) => {
        const { key = `${token.prefix ?? ""}${uuidv7()}`, ...asked } = readKeyedScheduleBody(
          body(),
          operations.besides,
        );
        refuseForeignKey(token, key);
        return edited(await operations.createSchedule({ key, ...asked, caller }));
      },
    }),
    route({
      method: "PUT",
      path: "/v1/schedules/{key}",
      scope: "write",
      query: noQuery,
      doc: scheduleDocs.put,
      answer: async ({ parameter, body, header, caller }) => {
        const key = readKey(parameter("key"));
        return edited(
          await operations.putSchedule({
            key,
            ifMatch: readIfMatch(header("if-match")),
            ifNoneMatch: readIfNoneMatch(header("if-none-match")),
            body: readScheduleBody(body(), key, operations.besides),
            caller,
          }),
        );
      },
    }),
    route({
      method: "PATCH",
      path: "/v1/schedules/{key}",
      scope: "write",
      query: noQuery,
      doc: scheduleDocs.patch,
      answer: async ({ parameter, body, header, caller }) => {
        const key = readKey(parameter("key"));
        const patch = readSchedulePatch(body(), key);
        return edited(
          await operations.patchSchedule({
            key,
            ifMatch: readIfMatch(header("if-match")),
            patch,
            caller,
          }),
        );
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/schedules/{key}",
      scope: "write",
      query: noQuery,
      doc: scheduleDocs.remove,
      answer: async ({ parameter, header, caller }) => {
        await operations.deleteSchedule({
          key: readKey(parameter("key")),
          ifMatch: readIfMatch(header("if-match")),
          caller,
        });
        return { status: 204 };
      },
    }),
  ];
}

function holdRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/schedules/{key}/pause",
      scope: "write",
      query: noQuery,
      doc: scheduleDocs.pause,
      answer: async ({ parameter, optionalBody, header, caller, token }) => {
        const key = readKey(parameter("key"));
        const { reason, until, owner } = readShape(pauseShape, optionalBody(), "body");
        return edited(
          await operations.pauseSchedule({
            key,
            caller,
            ifMatch: readIfMatch(header("if-match")),
            reason: reason ?? undefined,
            until: until ?? undefined,
            owner: ownerFor(token, owner),
          }),
        );
      },
    }),
    route({
      method: "POST",
      path: "/v1/schedules/{key}/resume",
      scope: "write",
      query: noQuery,
      doc: scheduleDocs.resume,
      answer: async ({ parameter, optionalBody, header, caller, token }) => {
        const key = readKey(parameter("key"));
        const { owner } = readShape(resumeShape, optionalBody(), "body");
        return edited(
          await operations.resumeSchedule({
            key,
            caller,
            ifMatch: readIfMatch(header("if-match")),
            owner: resumedOwnerFor(token, owner),
          }),
        );
      },
    }),
  ];
}

function readRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/schedules",
      scope: "read",
      query: listQuery,
      doc: scheduleDocs.list,
      answer: async ({ query: { cursor, limit, ...asked }, token }) => {
        const within = narrowed(token, asked.prefix);
        if (within === null) return { status: 200, body: { items: [] } };
        const filter = { ...asked, ...within };
        const after = readSearchCursor(cursor, "schedule-search", filter, (place) =>
          isSearchPlace(filter, place),
        );
        const { items, next } = await operations.listSchedules({ ...filter, after, limit });
        return {
          status: 200,
          body: {
            items: items.map(scheduleListView),
            ...(next === undefined ? {} : { cursor: writeSearchCursor("schedule-search", filter, next) }),
          },
        };
      },
    }),
    route({
      method: "GET",
      path: "/v1/schedules:count",
      scope: "read",
      query: countQuery,
      doc: scheduleDocs.count,
      kind: "count",
      cost: 5,
      answer: async ({ query, token }) => {
        const within = narrowed(token, query.prefix);
        const body =
          within === null
            ? { count: 0, more: false }
            : await operations.countSchedules({ ...query, ...within });
        return { status: 200, body };
      },
    }),
    route({
      method: "GET",
      path: "/v1/schedules/{key}",
      scope: "read",
      query: noQuery,
      doc: scheduleDocs.get,
      answer: async ({ parameter }) => {
        const schedule = await operations.readSchedule(readKey(parameter("key")));
        return { status: 200, body: scheduleView(schedule), headers: { etag: etagOf(schedule.version) } };
      },
    }),
  ];
}
