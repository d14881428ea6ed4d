import * as z from "zod";
import { readKey } from "../../command/schedule-input.ts";
import { changesOfBody, changesOfNew } from "../../history/version-changes.ts";
import { Refusal } from "../../refusal.ts";
import { restoreDoc, versionsDoc } from "../document/version-docs.ts";
import type { Operations } from "../operations/operations.ts";
import { readCursor, writeCursor } from "../request/cursor.ts";
import { readIfMatch, readIfNoneMatch } from "../request/etag.ts";
import { pageQuery } from "../request/query.ts";
import { type Route, route } from "../request/route.ts";
import { edited } from "../views/edited-answer.ts";

const restoreQuery = z.strictObject({
  dryRun: z
    .literal("true", { error: "takes `true`" })
    .transform(() => true)
    .optional()
    .describe("Change nothing: answer what would change."),
});

/** The texts that can be a version number; Postgres stores it in four bytes. */
const versionText = /^[1-9]\d{0,8}$/;

export function versionRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/schedules/{key}/versions",
      scope: "read",
      query: z.strictObject(pageQuery),
      doc: versionsDoc,
      answer: async ({ parameter, query: { cursor, limit } }) => {
        const key = readKey(parameter("key"));
        const isVersion = (text: string) => versionText.test(text);
        const before = cursor === undefined ? undefined : Number(readCursor(cursor, "versions", isVersion));
        const { items, next } = await operations.versionsOfSchedule({ key, limit, before });
        return {
          status: 200,
          body: {
            items,
            ...(next === undefined ? {} : { cursor: writeCursor("versions", String(next)) }),
          },
        };
      },
    }),
    route({
      method: "POST",
      path: "/v1/schedules/{key}/versions/{n}/restore",
      scope: "write",
      query: restoreQuery,
      doc: restoreDoc,
      answer: async ({ parameter, header, query: { dryRun }, caller }) => {
        const key = readKey(parameter("key"));
        const n = parameter("n");
        if (!versionText.test(n))
          throw new Refusal(
            "missing",
            `The schedule ${key} has no version ${JSON.stringify(n.slice(0, 20))}.`,
          );
        const ifMatch = readIfMatch(header("if-match"));
        const ifNoneMatch = readIfNoneMatch(header("if-none-match"));
        const params = { key, version: Number(n), ifMatch, ifNoneMatch, caller };
        if (dryRun === true) return { status: 200, body: triedView(await operations.tryRestore(params)) };
        return edited(await operations.restoreVersion(params));
      },
    }),
  ];
}

function triedView({ current, done }: Awaited<ReturnType<Operations["tryRestore"]>>) {
  const { schedule, changes } = done;
  return {
    dryRun: true,
    key: schedule.key,
    version: current?.version ?? null,
    fields: current === null ? changesOfNew(schedule.body) : changesOfBody(current.body, schedule.body),
    changes,
  };
}
