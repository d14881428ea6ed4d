import * as z from "zod";
import { cancelledMost } from "../../batch/cancel-label.ts";
import { heldMost, type SharedHoldDone } from "../../batch/label-holds.ts";
import { pauseShape, resumeShape } from "../../command/schedule-input.ts";
import type { ListedGroup } from "../../history/groups/list-groups.ts";
import type { SharedHoldRead } from "../../history/groups/read-label.ts";
import { Refusal } from "../../refusal.ts";
import { isKeyPlace, keyFault } from "../../schedule/shape/schedule-key.ts";
import { storableText } from "../../schedule/shape/text.ts";
import type { Label } from "../../schedule/shared-holds.ts";
import type { Token } from "../../token/token.ts";
import { groupListDoc, labelDocs } from "../document/group-docs.ts";
import type { Operations } from "../operations/operations.ts";
import type { Answer } from "../request/answer.ts";
import type { Counted } from "../request/cost.ts";
import { readCursor, writeCursor } from "../request/cursor.ts";
import { pageQuery } from "../request/query.ts";
import { type Route, readShape, route, workRoute } from "../request/route.ts";
import { readSearchCursor, writeSearchCursor } from "../request/search-cursor.ts";
import { jobListView } from "../views/job-view.ts";
import { scheduleListView } from "../views/schedule-view.ts";
import { mayRelease, ownerFor } from "./hold-owner.ts";

const cancelShape = pauseShape.pick({ reason: true });
const goOnQuery = z.strictObject({ cursor: pageQuery.cursor });

const groupQuery = z.strictObject({
  prefix: storableText({ max: 255 }).optional().describe("Groups whose names begin with it."),
  ...pageQuery,
});

/** Routes of groups, and of tags in the same way. */
export function groupRoutes(operations: Operations): Route[] {
  return [groupList(operations), ...labelRoutes(operations, "group"), ...labelRoutes(operations, "tag")];
}

function groupList(operations: Operations): Route {
  return route({
    method: "GET",
    path: "/v1/groups",
    scope: "read",
    query: groupQuery,
    doc: groupListDoc,
    answer: async ({ query: { limit, cursor, prefix }, token }) => {
      const filter = { prefix, keys: token.prefix ?? undefined };
      const after = readSearchCursor(cursor, "groups", filter, isKeyPlace);
      const { items, next } = await operations.listGroups({ filter, after, limit });
      const following = next === undefined ? {} : { cursor: writeSearchCursor("groups", filter, next) };
      return { status: 200, body: { items: items.map(listedGroupView), ...following } };
    },
  });
}

function listedGroupView({ name, schedules, more, sample }: ListedGroup) {
  return { group: name, schedules, moreSchedules: more, sample };
}

function labelRoutes(operations: Operations, scope: Label["scope"]): Route[] {
  const docs = labelDocs(scope, cancelShape);
  return [
    route({
      method: "GET",
      path: `/v1/${scope}s/{name}`,
      scope: "read",
      query: z.strictObject(pageQuery),
      doc: docs.get,
      answer: async ({ parameter, query: { limit, cursor }, token }) => {
        const label = readLabelName(scope, parameter("name"));
        const after = cursor === undefined ? undefined : readCursor(cursor, "schedules", isKeyPlace);
        const read = await operations.readLabel(label, { limit, after, prefix: token.prefix ?? undefined });
        if (read === null)
          throw new Refusal(
            "missing",
            `There is neither a schedule nor a hold of the ${scope} ${JSON.stringify(label.name)}.`,
          );
        const { holds, schedules, jobs, next } = read;
        return {
          status: 200,
          body: {
            [scope]: label.name,
            holds: holds.map((hold) => sharedHoldView(hold, token)),
            schedules: schedules.map(scheduleListView),
            jobs: jobs.items.map(jobListView),
            moreJobs: jobs.more,
            ...(next === undefined ? {} : { cursor: writeCursor("schedules", next) }),
          },
        };
      },
    }),
    workRoute({
      method: "POST",
      path: `/v1/${scope}s/{name}/pause`,
      scope: "write",
      query: goOnQuery,
      doc: docs.pause,
      read: ({ parameter, optionalBody, query, caller, token }) => {
        const label = readLabelName(scope, parameter("name"));
        const { reason, until, owner } = readShape(pauseShape, optionalBody(), "body");
        return {
          label,
          caller,
          reason: reason ?? undefined,
          until: until ?? undefined,
          owner: ownerFor(token, owner),
          prefix: token.prefix ?? undefined,
          revision: readRevision(query.cursor),
        };
      },
      kind: "bulk",
      cost: heldCost,
      answer: async (params, { token }) => answerOf(await operations.pauseLabel(params), token),
    }),
    workRoute({
      method: "POST",
      path: `/v1/${scope}s/{name}/resume`,
      scope: "write",
      query: goOnQuery,
      doc: docs.resume,
      read: ({ parameter, optionalBody, query, caller, token }) => {
        const label = readLabelName(scope, parameter("name"));
        const { owner } = readShape(resumeShape, optionalBody(), "body");
        return {
          label,
          caller,
          owner: ownerFor(token, owner),
          prefix: token.prefix ?? undefined,
          revision: readRevision(query.cursor),
        };
      },
      kind: "bulk",
      cost: heldCost,
      answer: async (params, { token }) => answerOf(await operations.resumeLabel(params), token),
    }),
    workRoute({
      method: "POST",
      path: `/v1/${scope}s/{name}/cancel`,
      scope: "write",
      query: goOnQuery,
      doc: docs.cancel,
      read: ({ parameter, optionalBody, query, caller, token }) => {
        const label = readLabelName(scope, parameter("name"));
        const { reason } = readShape(cancelShape, optionalBody(), "body");
        const members = { ...label, prefix: token.prefix };
        const after = readSearchCursor(query.cursor, "group-cancels", members, isKeyPlace);
        const params = {
          label,
          caller,
          reason: reason ?? undefined,
          prefix: token.prefix ?? undefined,
          after,
        };
        return { members, params };
      },
      kind: "bulk",
      cost: {
        per: "each member that is deleted or fails",
        most: cancelledMost,
        isReserve: true,
        of: () => cancelledMost,
      },
      answer: async ({ members, params }) => {
        const { done, running, failed, next } = await operations.cancelLabel(params);
        const more = next === undefined ? {} : { cursor: writeSearchCursor("group-cancels", members, next) };
        return { status: 200, body: { done, running, failed, ...more }, units: done + failed };
      },
    }),
  ];
}

const heldCost: Counted<unknown> = {
  per: "each member that changes",
  most: heldMost,
  isReserve: true,
  of: () => heldMost,
};

/**
 * The answer has a cursor if members are left. The ticks go on with these; the same call with the
 * cursor goes on at once.
 */
function answerOf({ done, hold, unfinished }: SharedHoldDone, token: Token): Answer {
  return {
    status: 200,
    body: {
      done,
      hold: hold === null ? null : sharedHoldView(hold, token),
      ...(unfinished === undefined ? {} : { cursor: writeCursor("holds", unfinished) }),
    },
    units: done,
  };
}

function sharedHoldView(
  { scope, owner, prefix, reason, until, since, releasedAt, reached, members }: SharedHoldRead,
  token: Token,
) {
  const progress = releasedAt !== null ? "releasing" : reached !== null ? "setting" : "set";
  const releasable = releasedAt === null && mayRelease(token, { scope, owner, reach: prefix });
  return {
    owner,
    prefix: prefix === "" ? null : prefix,
    reason,
    until,
    since,
    progress,
    members,
    releasable,
  };
}

function readLabelName(scope: Label["scope"], name: string): Label {
  const message = keyFault(name);
  if (message === null) return { scope, name };
  throw new Refusal("invalid", `The name of the ${scope} is not understood.`, [{ path: scope, message }]);
}

function readRevision(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  return readCursor(cursor, "holds", (revision) => /^[1-9]\d{0,17}$/.test(revision));
}
